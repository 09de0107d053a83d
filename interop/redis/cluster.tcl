# The nodes of Redis's cluster tests are those of one minikv with --cluster 10x1, from
# port NODES_PORT on: the first ten are m1 to m10, the others r1 to r10.

set ::nodes_port $::env(NODES_PORT)
set ::nodes_count 20

source [file join [file dirname [info script]] control.tcl]
source [file join [file dirname [info script]] instances.tcl]

proc node_name {type id} { expr {$id < 10 ? "m[expr {$id + 1}]" : "r[expr {$id - 9}]"} }

proc node_port {type id} { expr {$::nodes_port + $id} }

proc spawn_instance {type base_port count {conf {}} {base_conf_file ""}} { spawn_nodes $type $count }

# There are no configuration files, and no packets to be dropped.
proc R {n args} {
    if {[lrange $args 0 1] in {{config rewrite} {DEBUG DROP-CLUSTER-PACKET-FILTER}}} { return OK }
    [Rn $n] {*}$args
}
