# What all but the first way share: nodes are killed, stopped and looked at over
# minikv's control port, which is the one after theirs. Kill takes their names for pids.

proc minikv {args} {
    if {![info exists ::nodes_control]} {
        set ::nodes_control [redis 127.0.0.1 [expr {$::nodes_port + $::nodes_count}]]
    }
    $::nodes_control minikv {*}$args
}

rename exec exec_program
proc exec {args} {
    set node [lindex $args end]
    if {[lindex $args 0] eq {kill} && [regexp {^[mrs]\d+$} $node]} {
        switch -- [lindex $args 1] {
            -SIGSTOP { return [minikv freeze $node] }
            -SIGCONT { return [minikv thaw $node] }
        }
        return [minikv kill $node]
    }
    uplevel 1 [list exec_program {*}$args]
}

proc is_up node {
    foreach one [minikv nodes] {
        if {[lindex $one 0] eq $node} { return [expr {[lindex $one 2] ne {down}}] }
    }
    return 0
}

proc end_node node {
    catch {minikv thaw $node}
    catch {minikv kill $node}
}
