#!/bin/sh
# The shortest policy: it reads every observation and plans nothing.
while read -r observation; do
    echo '{"actions": [], "notes": ["a policy of two lines"]}'
done
