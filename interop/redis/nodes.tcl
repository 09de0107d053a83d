# The servers that Redis's tests start are nodes of one minikv, from port NODES_PORT
# on: their "pid" is the name of a node, and what kills, stops or starts one goes over
# minikv's control port. A node that is taken anew has no data and follows nobody.

set ::nodes_port $::env(NODES_PORT)
set ::nodes_count 12
set ::nodes_free {}
for {set i 1} {$i <= $::nodes_count} {incr i} { lappend ::nodes_free $i }
set ::nodes_defaults {}

source [file join [file dirname [info script]] control.tcl]

proc node_client {i} { redis 127.0.0.1 [expr {$::nodes_port + $i - 1}] }

proc fresh_node {overrides} {
    set ::nodes_free [lassign $::nodes_free i]
    minikv restart m$i lose-all
    set client [node_client $i]
    if {$::nodes_defaults eq {}} { set ::nodes_defaults [$client config get repl*] }
    $client replicaof no one
    $client flushall
    foreach {name value} [concat $::nodes_defaults {slave-read-only yes} $overrides] {
        catch {$client config set $name $value}
    }
    $client config resetstat
    $client close
    return $i
}

proc is_alive config { is_up [dict get $config pid] }

proc kill_server config {
    if {[dict exists $config client]} { catch {[dict get $config client] close} }
    set node [dict get $config pid]
    end_node $node
    set i [string range $node 1 end]
    if {$i ni $::nodes_free} { lappend ::nodes_free $i }
}

proc start_server {options {code undefined}} {
    array set given {overrides {} tags {}}
    array set given $options
    set tags [string map { \" "" } $given(tags)]
    set outer $::tags
    set ::tags [concat $::tags $tags]
    if {![tags_acceptable $::tags why]} {
        incr ::num_aborted
        send_data_packet $::test_server_fd ignore $why
        set ::tags $outer
        return
    }
    set i [fresh_node [concat $::global_overrides $given(overrides)]]
    set dir [tmpdir server]
    foreach name {stdout stderr} { close [open $dir/$name w] }
    set port [expr {$::nodes_port + $i - 1}]
    set server [dict create config_file $dir/none config [dict create dir $dir port $port] pid m$i \
        host 127.0.0.1 port $port stdout $dir/stdout stderr $dir/stderr unixsocket $dir/socket]
    if {$code eq {undefined}} {
        set ::tags $outer
        return $server
    }
    lappend ::servers $server
    reconnect
    set bad [catch { uplevel 1 $code } error]
    set trace $::errorInfo
    set server [lindex $::servers end]
    set ::servers [lrange $::servers 0 end-1]
    set ::tags $outer
    kill_server $server
    if {$bad} { error $error $trace }
}

proc restart_server {level wait_ready rotate_logs {reconnect 1} {shutdown sigterm}} {
    set server [lindex $::servers end+$level]
    minikv restart [dict get $server pid] keep
    dict unset server client
    lset ::servers end+$level $server
    if {$reconnect} { reconnect $level }
}
