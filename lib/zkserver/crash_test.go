package zkserver

func child() {}
