showRun();
finish(data.left_out);
