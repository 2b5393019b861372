#!/bin/sh
# sqlite3 makes a database in memory-backed files and asks it by keys in no order: a B-tree, larger
# than the caches, whose pages lie in the page cache of the node that wrote them.
# packages: sqlite3
# programs: /usr/bin/sqlite3
#
# rows=40000
# lookups=40000

rows=${rows:-40000} lookups=${lookups:-40000}
case $1 in
setup)
    cp /bin/sqlite3 .
    ./sqlite3 base.db "
        pragma journal_mode = off; pragma synchronous = off;
        create table item (key integer primary key, price integer, name text);
        with recursive n(i) as (values(1) union all select i + 1 from n where i < $rows)
        insert into item select i, (i * 7919) % 10007, 'item ' || ((i * 104729) % 1000003) || hex(zeroblob(40)) from n;
        create index by_name on item(name);" ;;
run)
    ./sqlite3 base.db "
        pragma mmap_size = 268435456; pragma cache_size = -256;
        with recursive n(i, at) as (values(1, 1) union all select i + 1, (at * 16807) % 2147483647 from n where i < $lookups)
        select count(*), sum(price), sum(length(name)) from n join item on item.key = n.at % $rows + 1;
        select count(*), min(name), max(name) from item indexed by by_name where price < 5000;" ;;
end) ;;
*) echo "usage: sqlite.sh setup|run|end" >&2; exit 2 ;;
esac
