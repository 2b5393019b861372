/* Forks that last, as those of large processes do. See slow_fork.c. */
int make_forks_last(void);
