# What cluster.tcl and sentinel.tcl share: the instances of Redis's instances.tcl are nodes
# that are there already.

proc is_alive pid { is_up $pid }

proc stop_instance pid { end_node $pid }

proc log_crashes {} {}

proc connect_instance {type id} {
    set link [redis 127.0.0.1 [node_port $type $id] 0 0]
    $link reconnect 1
    return $link
}

proc spawn_nodes {type count} {
    for {set id 0} {$id < $count} {incr id} {
        lappend ::pids [node_name $type $id]
        lappend ::${type}_instances [list pid [node_name $type $id] host 127.0.0.1 port [node_port $type $id] \
            plaintext-port 0 link [connect_instance $type $id]]
    }
}

proc restart_instance {type id} {
    minikv restart [node_name $type $id] keep
    set_instance_attrib $type $id pid [node_name $type $id]
    lappend ::pids [node_name $type $id]
    set_instance_attrib $type $id link [connect_instance $type $id]
}
