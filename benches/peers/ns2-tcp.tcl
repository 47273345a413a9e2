# ns-2: N Reno connections through one node to one sink.
# usage: ns ns2-tcp.tcl SENDERS SECONDS SCHEDULER
#
# Links of 10 Gb/s and 6.25 us, so an RTT of 25 us; 1500-byte packets, windows of 44 segments,
# 150 packets of queue before the sink, timeouts of at least 10 ms, no delayed acknowledgements.
# No trace; headers trimmed. Prints packet-hops, those of acknowledgements included, and drops.

lassign $argv senders seconds scheduler
remove-all-packet-headers
add-packet-header IP TCP Flags
set sim [new Simulator]
$sim use-scheduler $scheduler
Queue/DropTail set limit_ 100000

set switch [$sim node]
set sink [$sim node]
$sim duplex-link $switch $sink 10Gb 6.25us DropTail
$sim queue-limit $switch $sink 150
set monitor [$sim monitor-queue $switch $sink ""]

for {set i 0} {$i < $senders} {incr i} {
    set host [$sim node]
    $sim duplex-link $host $switch 10Gb 6.25us DropTail
    set tcp [new Agent/TCP/Reno]
    $tcp set packetSize_ 1460
    $tcp set window_ 44
    $tcp set minrto_ 0.01
    $tcp set tcpTick_ 0.0001
    $tcp set overhead_ 0
    $sim attach-agent $host $tcp
    set receiver [new Agent/TCPSink]
    $sim attach-agent $sink $receiver
    $sim connect $tcp $receiver
    set stream [new Application/FTP]
    $stream attach-agent $tcp
    $sim at [expr {$i * 1e-6}] "$stream start"
}

$sim at $seconds finish
proc finish {} {
    global monitor
    set in [$monitor set parrivals_]
    set out [$monitor set pdepartures_]
    puts "hops [expr {$in + 3 * $out}] drops [$monitor set pdrops_]"
    exit 0
}
$sim run
