# The nodes of Redis's cluster tests are those of one minikv with --cluster 10x1, from
# port NODES_PORT on: the first ten are m1 to m10, the others r1 to r10.

set ::nodes_port $::env(NODES_PORT)
set ::nodes_count 20

source [file join [file dirname [info script]] control.tcl]

proc node_name {id} { expr {$id < 10 ? "m[expr {$id + 1}]" : "r[expr {$id - 9}]"} }

proc is_alive pid { is_up $pid }

proc stop_instance pid { end_node $pid }

proc log_crashes {} {}

proc connect_instance {id} {
    set link [redis 127.0.0.1 [expr {$::nodes_port + $id}] 0 0]
    $link reconnect 1
    return $link
}

proc spawn_instance {type base_port count {conf {}} {base_conf_file ""}} {
    for {set id 0} {$id < $count} {incr id} {
        lappend ::pids [node_name $id]
        lappend ::redis_instances [list pid [node_name $id] host 127.0.0.1 port [expr {$::nodes_port + $id}] \
            plaintext-port 0 link [connect_instance $id]]
    }
}

proc restart_instance {type id} {
    minikv restart [node_name $id] keep
    set_instance_attrib $type $id pid [node_name $id]
    lappend ::pids [node_name $id]
    set_instance_attrib $type $id link [connect_instance $id]
}

# There are no configuration files, and no packets to be dropped.
proc R {n args} {
    if {[lrange $args 0 1] in {{config rewrite} {DEBUG DROP-CLUSTER-PACKET-FILTER}}} { return OK }
    [Rn $n] {*}$args
}
