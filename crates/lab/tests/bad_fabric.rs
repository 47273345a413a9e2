//! Every way the tables of a fabric can contradict one another gives one message with its place and what to do.

use qcnlab_lab::Scenario;

const GOOD: &str = r#"
title = "Edges around a core"
duration = "1 s"

[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "2 us"

[[link]]
from = "node{1..4}"
to = "edge{1..2}"

[[link]]
from = "edge{1..2}"
to = "core"

[[link]]
from = "core"
to = "node5"

[[switch]]
input_memory = "150 KB"
output_buffer = "300 KB"

[pause]
kind = "link"

[[traffic]]
kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s"
frame = "1500 B"

[scheme]
name = "qcn"
"#;

/// What to find in the good file, what to write instead, and the whole message.
type Case = (&'static str, &'static str, &'static str);

fn check(cases: &[Case]) {
    let good = GOOD.trim_start();
    assert!(Scenario::parse(good, "file.toml").is_ok());
    for (find, replace, expected) in cases {
        assert!(good.contains(find), "the good file has no {find}");
        let error = Scenario::parse(&good.replacen(find, replace, 1), "file.toml");
        let found = error.expect_err(&format!("{replace} should be refused")).render();
        assert_eq!(found, expected.trim_matches('\n'), "\n\nwith {replace}:\n{found}\n");
    }
}

const LINKS: &[Case] = &[
    (
        r#"from = "core"
to = "node5""#,
        r#"from = "lone"
to = "node{5..6}""#,
        r#"
error: no way leads from 'node1' to 'node5': add the link that is missing between them; hosts do not forward
  --> file.toml:31:6
   |
31 | to = "node5"
   |      ^^^^^^^
"#,
    ),
    (
        r#"to = "edge{1..2}""#,
        r#"to = "edge{1..3}""#,
        r#"
error: 4 on one side cannot be paired with 3 on the other
  --> file.toml:11:6
   |
11 | to = "edge{1..3}"
   |      ^^^^^^^^^^^^
   |
   = help: write as many on both sides, or a whole multiple on one
"#,
    ),
    (
        r#"to = "edge{1..2}""#,
        r#"to = "edge{2..1}""#,
        r#"
error: 'edge{2..1}' is no pattern: a range counts up: 2 comes after 1
  --> file.toml:11:6
   |
11 | to = "edge{2..1}"
   |      ^^^^^^^^^^^^
"#,
    ),
    (
        r#"to = "edge{1..2}""#,
        r#"to = "edge*""#,
        r#"
error: 'edge*' is no pattern: * can stand for names that are there, not for new ones
  --> file.toml:11:6
   |
11 | to = "edge*"
   |      ^^^^^^^
"#,
    ),
    (
        r#"to = "edge{1..2}""#,
        r#"to = "edge{1-2}""#,
        r#"
error: 'edge{1-2}' is no pattern: a range is written {1..8} or, with a step, {1..15..2}
  --> file.toml:11:6
   |
11 | to = "edge{1-2}"
   |      ^^^^^^^^^^^
"#,
    ),
    (
        r#"to = "node5""#,
        r#"to = "node5, core""#,
        r#"
error: a link goes from 'core' to itself
  --> file.toml:19:6
   |
19 | to = "node5, core"
   |      ^^^^^^^^^^^^^
"#,
    ),
    (
        r#"to = "node5""#,
        r#"to = "edge1""#,
        r#"
error: two links join 'core' and 'edge1': ports are named core->edge1, so write one link of the summed rate
  --> file.toml:19:6
   |
19 | to = "edge1"
   |      ^^^^^^^
"#,
    ),
    (
        r#"to = "node5""#,
        r#"to = "node 5""#,
        r#"
error: 'node 5' cannot name a node: use letters, digits, '-', '_' and '.'
  --> file.toml:19:6
   |
19 | to = "node 5"
   |      ^^^^^^^^
"#,
    ),
    (
        r#"rate = "10 Gb/s"
delay"#,
        r#"delay"#,
        r#"
error: [[link]] has no 'rate'
 --> file.toml:8:1
  |
8 | [[link]]
  | ^^^^^^^^
  |
  = help: add rate = "10 Gb/s", here or in [topology]
"#,
    ),
    (
        r#"kind = "graph"
rate"#,
        r#"kind = "switch"
hosts = 5
rate"#,
        r#"
error: [[link]] belongs to a [topology] of kind 'graph'
  --> file.toml:10:1
   |
10 | [[link]]
   | ^^^^^^^^
"#,
    ),
    (
        r#"from = "core"
to = "node5""#,
        r#"from = "lone"
to = "node5""#,
        r#"
error: no way leads from 'node1' to 'node5': add the link that is missing between them; hosts do not forward
  --> file.toml:31:6
   |
31 | to = "node5"
   |      ^^^^^^^
"#,
    ),
];

const HOSTS: &[Case] = &[
    (
        r#"to = "node5"
rate"#,
        r#"to = "node9"
rate"#,
        r#"
error: 'node9' matches no host
  --> file.toml:31:6
   |
31 | to = "node9"
   |      ^^^^^^^
   |
   = help: did you mean "node1"?
"#,
    ),
    (
        r#"to = "node5"
rate"#,
        r#"to = "core"
rate"#,
        r#"
error: 'core' is a switch: only hosts send and receive
  --> file.toml:31:6
   |
31 | to = "core"
   |      ^^^^^^
   |
   = help: the hosts are node1, node2, node3, node4, node5
"#,
    ),
    (
        r#"from = "node{1..4}"
to = "node5""#,
        r#"from = "host*"
to = "node5""#,
        r#"
error: 'host*' matches no host
  --> file.toml:30:8
   |
30 | from = "host*"
   |        ^^^^^^^
   |
   = help: the hosts are node1, node2, node3, node4, node5
"#,
    ),
    (
        r#"to = "node5"
rate"#,
        r#"to = "node{1..3}"
spread = "paired"
rate"#,
        r#"
error: 4 on one side cannot be paired with 3 on the other
  --> file.toml:31:6
   |
31 | to = "node{1..3}"
   |      ^^^^^^^^^^^^
   |
   = help: write as many on both sides
"#,
    ),
    (
        r#"from = "node{1..4}"
to = "node5""#,
        r#"from = "node5"
to = "node5""#,
        r#"
error: host 'node5' cannot send to itself
  --> file.toml:31:6
   |
31 | to = "node5"
   |      ^^^^^^^
"#,
    ),
    (
        r#"to = "node5"
rate = "5 Gb/s""#,
        r#"to = "*"
spread = "uniform"
max_rate = "5 Gb/s""#,
        r#"
error: 'max_rate' does not belong to a [[traffic]] of kind 'constant'
  --> file.toml:33:1
   |
33 | max_rate = "5 Gb/s"
   | ^^^^^^^^
   |
   = help: 'max_rate' belongs to kind "saturated"
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "saturated"
from = "node{1..4}"
to = "node5"
spread = "uniform""#,
        r#"
error: this kind of traffic is between two hosts and cannot be spread over several
  --> file.toml:32:10
   |
32 | spread = "uniform"
   |          ^^^^^^^^^
   |
   = help: use kind "constant", "poisson" or "on_off", or another spread
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[[hotspot]]
port = "core->node1"
from = "0.1 s"
until = "0.2 s"
rate = "1 Gb/s"

[scheme]"#,
        r#"
error: the topology has no port 'core->node1' to use here
  --> file.toml:36:8
   |
36 | port = "core->node1"
   |        ^^^^^^^^^^^^^
   |
   = help: did you mean "core->node5"?
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[[hotspot]]
from = "0.1 s"
until = "0.2 s"
rate = "1 Gb/s"

[scheme]"#,
        r#"
error: the topology has no port 'switch->sink' to use here
  --> file.toml:35:1
   |
35 | [[hotspot]]
   | ^^^^^^^^^^^
   |
   = help: the ports are node1->edge1, node2->edge1, node3->edge2, ... core->node5 (7 in all)
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[record]
bottleneck = "core->edge1"

[scheme]"#,
        r#"
error: the topology has no port 'core->edge1' to use here
  --> file.toml:36:14
   |
36 | bottleneck = "core->edge1"
   |              ^^^^^^^^^^^^^
   |
   = help: did you mean "node1->edge1"?
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[record]
queues = "node5->*"

[scheme]"#,
        r#"
error: 'node5->*' matches no port that a flow crosses
  --> file.toml:36:10
   |
36 | queues = "node5->*"
   |          ^^^^^^^^^^
   |
   = help: the ports are node1->edge1, node2->edge1, node3->edge2, ... core->node5 (7 in all)
"#,
    ),
    (
        r#"[[switch]]
"#,
        r#"[[switch]]
only = "spine*"
"#,
        r#"
error: 'spine*' matches no switch
  --> file.toml:22:8
   |
22 | only = "spine*"
   |        ^^^^^^^^
   |
   = help: the switches are edge1, edge2, core
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[adapter]
only = "core"
max_rps = 1

[scheme]"#,
        r#"
error: 'core' matches no host
  --> file.toml:36:8
   |
36 | only = "core"
   |        ^^^^^^
   |
   = help: the hosts are node1, node2, node3, node4, node5
"#,
    ),
];

const PAUSES: &[Case] = &[
    (
        r#"kind = "link""#,
        r#"kind = "link"
high = "150 KB""#,
        r#"
error: the high watermark (150 KB) is not below the input memory (150 KB) of 'edge1'
  --> file.toml:27:8
   |
27 | high = "150 KB"
   |        ^^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
high = "50 KB"
low = "60 KB""#,
        r#"
error: the low watermark (60 KB) is not below the high one (50 KB)
  --> file.toml:28:7
   |
28 | low = "60 KB"
   |       ^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
headroom = "150 KB""#,
        r#"
error: the headroom (150 KB) is not below the input memory (150 KB) of 'edge1'
  --> file.toml:27:12
   |
27 | headroom = "150 KB"
   |            ^^^^^^^^
   |
   = help: raise input_memory, or lower headroom
"#,
    ),
    (
        r#"input_memory = "150 KB"
"#,
        r#""#,
        r#"
error: watermarks need the size of the memory they guard, and 'edge1' has none
  --> file.toml:25:8
   |
25 | kind = "link"
   |        ^^^^^^
   |
   = help: set input_memory in [[switch]], or high in [[pause]]
"#,
    ),
    (
        r#"delay = "2 us""#,
        r#"delay = "100 us""#,
        r#"
error: the headroom (254564 B) is not below the input memory (150 KB) of 'edge1'
  --> file.toml:22:16
   |
22 | input_memory = "150 KB"
   |                ^^^^^^^^
   |
   = help: raise input_memory, or lower headroom
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "priority"
priorities = "8""#,
        r#"
error: '8' names no classes: they are numbers from 0 to 7
  --> file.toml:27:14
   |
27 | priorities = "8"
   |              ^^^
   |
   = help: write "3", "0, 3" or "0..7"
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "priority"
priorities = "5..3""#,
        r#"
error: '5..3' names no classes: they are numbers from 0 to 7
  --> file.toml:27:14
   |
27 | priorities = "5..3"
   |              ^^^^^^
   |
   = help: write "3", "0, 3" or "0..7"
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
rule = "threshold""#,
        r#"
error: [pause] has no 'threshold'
  --> file.toml:27:8
   |
27 | rule = "threshold"
   |        ^^^^^^^^^^^
   |
   = help: add threshold = "120 KB"
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
rule = "threshold"
threshold = "301 KB""#,
        r#"
error: the threshold (301 KB) is above the output buffer (300 KB) of 'edge1'
  --> file.toml:28:13
   |
28 | threshold = "301 KB"
   |             ^^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
rule = "threshold"
threshold = "120 KB"
high = "140 KB""#,
        r#"
error: 'high' does not belong to rule "threshold"
  --> file.toml:29:8
   |
29 | high = "140 KB"
   |        ^^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
threshold = "120 KB""#,
        r#"
error: 'threshold' does not belong to rule "watermarks"
  --> file.toml:27:13
   |
27 | threshold = "120 KB"
   |             ^^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
interval = "10 ms""#,
        r#"
error: a pause of 10 ms is more than 65535 quanta of 512 bit times at 10 Gb/s, which are 3.355392 ms
  --> file.toml:27:12
   |
27 | interval = "10 ms"
   |            ^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
only = "spine""#,
        r#"
error: 'spine' matches no switch
  --> file.toml:27:8
   |
27 | only = "spine"
   |        ^^^^^^^
   |
   = help: the switches are edge1, edge2, core
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "link"
only = "node5""#,
        r#"
error: 'node5' is a host that reads at once what it receives, and never stops its link
  --> file.toml:27:8
   |
27 | only = "node5"
   |        ^^^^^^^
   |
   = help: give it a receive_buffer in [[adapter]]
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[adapter]
only = "node5"
receive_buffer = "9 KB"

[scheme]"#,
        r#"
error: the headroom (9564 B) is not below the receive buffer (9 KB) of 'node5'
  --> file.toml:37:18
   |
37 | receive_buffer = "9 KB"
   |                  ^^^^^^
   |
   = help: raise receive_buffer, or lower headroom
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[adapter]
only = "node5"
receive_rate = "1 Gb/s"

[scheme]"#,
        r#"
error: watermarks need the size of the memory they guard, and 'node5' has none
  --> file.toml:26:8
   |
26 | kind = "link"
   |        ^^^^^^
   |
   = help: set receive_buffer in [[adapter]], or high in [[pause]]
"#,
    ),
    (
        r#"[pause]
kind = "link""#,
        r#"[[pause]]
only = "edge*"
kind = "link"

[[pause]]
kind = "link"
high = "200 KB""#,
        r#"
error: the high watermark (200 KB) is not below the input memory (150 KB) of 'core'
  --> file.toml:31:8
   |
31 | high = "200 KB"
   |        ^^^^^^^^
"#,
    ),
    (
        r#"kind = "link""#,
        r#"kind = "pfc""#,
        r#"
error: 'pfc' is not one of none, link, priority
  --> file.toml:26:8
   |
26 | kind = "pfc"
   |        ^^^^^
"#,
    ),
];

const SIZES: &[Case] = &[
    (
        r#"[pause]
kind = "link""#,
        r#"[adapter]
receive_buffer = "1499 B""#,
        r#"
error: a frame of 1500 B does not fit the buffer (1499 B)
  --> file.toml:33:9
   |
33 | frame = "1500 B"
   |         ^^^^^^^^
"#,
    ),
    (
        r#"input_memory = "150 KB""#,
        r#"input_memory = "1499 B""#,
        r#"
error: the headroom (9564 B) is not below the input memory (1499 B) of 'edge1'
  --> file.toml:22:16
   |
22 | input_memory = "1499 B"
   |                ^^^^^^^^
   |
   = help: raise input_memory, or lower headroom
"#,
    ),
    (
        r#"output_buffer = "300 KB""#,
        r#"output_buffer = "33 KB""#,
        r#"
error: the set point (33 KB) is not below the buffer (33 KB)
  --> file.toml:23:17
   |
23 | output_buffer = "33 KB"
   |                 ^^^^^^^
   |
   = help: lower scheme.cp.set_point or raise output_buffer
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[adapter]
input_buffer = "1499 B"

[scheme]"#,
        r#"
error: a frame of 1500 B does not fit the buffer (1499 B)
  --> file.toml:36:16
   |
36 | input_buffer = "1499 B"
   |                ^^^^^^^^
"#,
    ),
    (
        r#"rate = "5 Gb/s"
frame"#,
        r#"rate = "5 Gb/s"
priority = 8
frame"#,
        r#"
error: 8 is out of range: it must be from 0 to 7
  --> file.toml:33:12
   |
33 | priority = 8
   |            ^
"#,
    ),
    (
        r#"rate = "5 Gb/s"
frame"#,
        r#"rate = "11 Gb/s"
frame"#,
        r#"
error: the source's link (10 Gb/s) cannot carry a constant 11 Gb/s
  --> file.toml:32:8
   |
32 | rate = "11 Gb/s"
   |        ^^^^^^^^^
"#,
    ),
    (
        r#"[scheme]"#,
        r#"[feedback]
kind = "frames"
priority = 9

[scheme]"#,
        r#"
error: 9 is out of range: it must be from 0 to 7
  --> file.toml:37:12
   |
37 | priority = 9
   |            ^
"#,
    ),
    (
        r#"kind = "constant""#,
        r#"kind = "tcp""#,
        r#"
error: 'rate' does not belong to a [[traffic]] of kind 'tcp'
  --> file.toml:32:1
   |
32 | rate = "5 Gb/s"
   | ^^^^
   |
   = help: 'rate' belongs to kind "constant"
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s"
frame = "1500 B""#,
        r#"kind = "tcp"
from = "node{1..4}"
to = "node5"
frame = "64 B"
headers = "64 B""#,
        r#"
error: a frame of 64 B has no room for payload beside 64 B of headers
  --> file.toml:33:11
   |
33 | headers = "64 B"
   |           ^^^^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "tcp"
from = "node{1..4}"
to = "node5"
max_window = "1 KB""#,
        r#"
error: a window of 1 KB lets no segment of 1460 B go
  --> file.toml:32:14
   |
32 | max_window = "1 KB"
   |              ^^^^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "tcp"
from = "node{1..4}"
to = "node5"
min_rto = "2 s"
max_rto = "1 s""#,
        r#"
error: min_rto (2 s) is above max_rto (1 s)
  --> file.toml:32:11
   |
32 | min_rto = "2 s"
   |           ^^^^^
"#,
    ),
    (
        r#"from = "node{1..4}"
to = "edge{1..2}""#,
        r#"from = "node{1..2000000}"
to = "edge1""#,
        r#"
error: 'node{1..2000000}' is no pattern: it stands for more than 1000000 names
  --> file.toml:10:8
   |
10 | from = "node{1..2000000}"
   |        ^^^^^^^^^^^^^^^^^^
"#,
    ),
];

const FLOWS: &[Case] = &[
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "flows"
from = "node{1..4}"
to = "node5"
load = 0.5
sizes = "web_serch""#,
        r#"
error: no flow sizes are called 'web_serch'; did you mean 'web_search'?; there are web_search, web_search_hpcc, data_mining
  --> file.toml:33:9
   |
33 | sizes = "web_serch"
   |         ^^^^^^^^^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "flows"
from = "node{1..4}"
to = "node5"
load = 1.5
sizes = "64 KB""#,
        r#"
error: 1.5 is out of range: it must be more than 0, at most 1
  --> file.toml:32:8
   |
32 | load = 1.5
   |        ^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "flows"
from = "node{1..4}"
to = "node5"
load = 0.5
sizes = """
size,part
1 KB,0.5
10 KB,0.9
""""#,
        r#"
error: sizes, line 3: the table ends at 0.9: the last part must be 1, so that every flow has a size
  --> file.toml:33:9
   |
33 |   sizes = """
   |  _________^
34 | | size,part
35 | | 1 KB,0.5
36 | | 10 KB,0.9
37 | | """
   | |___^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "flows"
from = "node{1..4}"
to = "node5"
load = 0.5
sizes = "0 B""#,
        r#"
error: flows of 0 B are no flows: give at least one size above it
  --> file.toml:33:9
   |
33 | sizes = "0 B"
   |         ^^^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "incast"
from = "*"
to = "node5"
senders = 5
size = "64 KB"
period = "1 ms""#,
        r#"
error: an incast of 5 at a time must have 1 to 4, the senders there are besides the receiver
  --> file.toml:32:11
   |
32 | senders = 5
   |           ^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "incast"
from = "*"
to = "*"
senders = 2
size = "64 KB"
period = "1 ms""#,
        r#"
error: incast goes to one host, and 'to' matches 5
  --> file.toml:31:6
   |
31 | to = "*"
   |      ^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "incast"
from = "*"
to = "node5"
senders = 2
size = "64 KB"
period = "1 ms"
min_rto = "1 ms""#,
        r#"
error: 'min_rto' does not belong to a [[traffic]] of kind 'incast'
  --> file.toml:35:1
   |
35 | min_rto = "1 ms"
   | ^^^^^^^
   |
   = help: 'min_rto' belongs to kind "tcp"
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "tcp_incast"
from = "*"
to = "node5"
senders = 2
size = "64 KB"
period = "1 ms"
max_window = "1 KB""#,
        r#"
error: a window of 1 KB lets no segment of 1460 B go
  --> file.toml:35:14
   |
35 | max_window = "1 KB"
   |              ^^^^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "list"
flows = "missing.csv""#,
        r#"
error: 'missing.csv' cannot be read: No such file or directory (os error 2)
  --> file.toml:30:9
   |
30 | flows = "missing.csv"
   |         ^^^^^^^^^^^^^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "list"
flows = """
from,to,size,start
node1,node5,10,1 ms
""""#,
        r#"
error: traffic.0.flows, line 2, column 3 (size): '10' has no unit: a size needs one; write the unit, as in "10 B" or "10 KB"
  --> file.toml:30:9
   |
30 |   flows = """
   |  _________^
31 | | from,to,size,start
32 | | node1,node5,10,1 ms
33 | | """
   | |___^
"#,
    ),
    (
        r#"kind = "constant"
from = "node{1..4}"
to = "node5"
rate = "5 Gb/s""#,
        r#"kind = "list"
flows = """
from,to,size,start
node1,node5,10 KB,1 ms
node2,node9,10 KB,2 ms
""""#,
        r#"
error: traffic.0.flows, line 3, column 2 (to): 'node9' is no host of the topology; did you mean 'node1'?
  --> file.toml:30:9
   |
30 |   flows = """
   |  _________^
31 | | from,to,size,start
32 | | node1,node5,10 KB,1 ms
33 | | node2,node9,10 KB,2 ms
34 | | """
   | |___^
"#,
    ),
];

#[test]
fn links() {
    check(LINKS);
}

#[test]
fn hosts() {
    check(HOSTS);
}

#[test]
fn pauses() {
    check(PAUSES);
}

#[test]
fn sizes() {
    check(SIZES);
}

#[test]
fn flows() {
    check(FLOWS);
}

/// The same in a file of its own: the message names the file, its line and its column.
#[test]
fn a_bad_line_of_a_flow_file_is_named() {
    let folder = std::env::temp_dir().join(format!("qcnlab-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let csv = folder.join("bad.csv");
    std::fs::write(&csv, "from,to,size,start\nnode1,node5,10 KB,1 ms\nnode2,node5,10 KB,2\n").expect("a file");
    let text = GOOD.trim_start().replacen(
        "kind = \"constant\"\nfrom = \"node{1..4}\"\nto = \"node5\"\nrate = \"5 Gb/s\"",
        "kind = \"list\"\nflows = \"bad.csv\"",
        1,
    );
    let name = folder.join("file.toml").display().to_string();
    let found = Scenario::parse(&text, &name).expect_err("line 3 has a start without a unit").render();
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let expected = format!(
        r#"error: {}, line 3, column 4 (start): '2' has no unit: a time needs one; write the unit, as in "2 us" or "2 ms"
  --> {name}:30:9
   |
30 | flows = "bad.csv"
   |         ^^^^^^^^^"#,
        csv.display(),
    );
    assert_eq!(found, expected);
}
