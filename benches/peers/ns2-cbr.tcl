# ns-2: N constant-rate senders through one node to one sink.
# usage: ns ns2-cbr.tcl SENDERS SECONDS SCHEDULER
#
# Links of 10 Gb/s and 20 us, 1500-byte packets, 10.5 Gb/s offered in all, sender i starts a frame
# time later than sender i-1, 100 packets of queue before the sink. No trace; headers trimmed.
# Prints packet-hops (over both links) and drops.

lassign $argv senders seconds scheduler
remove-all-packet-headers
add-packet-header IP UDP RTP Flags
set sim [new Simulator]
$sim use-scheduler $scheduler

set switch [$sim node]
set sink [$sim node]
$sim duplex-link $switch $sink 10Gb 20us DropTail
$sim queue-limit $switch $sink 100
set monitor [$sim monitor-queue $switch $sink ""]

set offered 10.5e9
for {set i 0} {$i < $senders} {incr i} {
    set host [$sim node]
    $sim duplex-link $host $switch 10Gb 20us DropTail
    set udp [new Agent/UDP]
    $udp set packetSize_ 1500
    $sim attach-agent $host $udp
    set null [new Agent/Null]
    $sim attach-agent $sink $null
    $sim connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1500
    $cbr set rate_ [expr {$offered / $senders}]
    $cbr attach-agent $udp
    $sim at [expr {$i * 12000.0 / $offered}] "$cbr start"
}

$sim at $seconds finish
proc finish {} {
    global monitor
    puts "hops [expr {[$monitor set parrivals_] + [$monitor set pdepartures_]}] drops [$monitor set pdrops_]"
    exit 0
}
$sim run
