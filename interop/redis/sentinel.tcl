# The servers of Redis's Sentinel tests are those of one minikv with --sentinel 5x0x5, from
# port NODES_PORT on: m1 to m5, then the Sentinels s1 to s5.

set ::nodes_port $::env(NODES_PORT)
set ::nodes_count 10
set ::leaked_fds_file {} ;# no scripts are started

source [file join [file dirname [info script]] control.tcl]
source [file join [file dirname [info script]] instances.tcl]

proc node_name {type id} { return [expr {$type eq {redis} ? {m} : {s}}][expr {$id + 1}] }

proc node_port {type id} { expr {$::nodes_port + $id + ($type eq {redis} ? 0 : 5)} }

proc spawn_instance {type base_port count {conf {}} {base_conf_file ""}} {
    spawn_nodes $type $count
    if {$type eq {sentinel}} { forget_masters }
}

# The Sentinels watch m1 to m5; the tests begin with Sentinels that watch nothing.
proc forget_masters {} {
    foreach_sentinel_id id {
        foreach master [S $id SENTINEL MASTERS] { S $id SENTINEL REMOVE [dict get $master name] }
    }
}
