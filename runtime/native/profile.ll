; What runs when: the code of runtime/profiling/recorder.py. Functions begin and end with the GIL held; marks are made in
; calls that are measured, of which there is one at a time.

%event = type { i64, i64, i64, i64, i64, i64, i64, i64, i64 }
; time, site, operations, bytes, live bytes, busy time of all threads, time that they might have been busy, threads;
; of how many calls this one, which begins here, was measured
%row = type { i64, i64, i64, i64 }             ; of a site: how often it ran; calls that are yet to be left out; of how
                                               ; many the next one is measured, less one

@profile_clock = global i32 -1                 ; the clock that is asked; -1: the processor's counter
@profile_most = global i64 0                   ; events above which none is written
@profile_events = global ptr null
@profile_count = global i64 0
@profile_lost = global i64 0                   ; events that were not written
@profile_pool = global ptr null                ; tirax_parallel_for
@profile_part = global i64 0                   ; calls are left out until marks cost one part in so many; 0: none is
@profile_on = global i1 false                  ; whether calls are recorded
@profile_price = global i64 0                  ; of a mark, in ticks
@profile_calls = global i64 0                  ; from outside of what is recorded
@profile_owner = global i64 0                  ; the thread in whose call we are
@depth = internal global i64 0                 ; functions that it is in
@measured = internal global i1 false           ; whether its call is measured
@begin = internal global i64 0                 ; when that began, and with which event
@first = internal global i64 0
@room = internal global i64 0
@site = internal global i64 -1                 ; what runs now; -1: nothing that is profiled
@inside = internal global i32 0                ; whether a parallel loop runs
@function = internal global ptr null           ; these four: the loop
@context = internal global ptr null
@from = internal global i64 0
@to = internal global i64 0
%worker = type { i64, i64, [112 x i8] }        ; thread, busy time; a line of the cache for each
@workers = internal global [256 x %worker] zeroinitializer, align 128

declare i32 @clock_gettime(i32, ptr)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i64 @pthread_self()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.readcyclecounter()

; The time in ticks of the counter, or in nanoseconds.
define i64 @profile_now() alwaysinline {
  %clock = load i32, ptr @profile_clock
  %counts = icmp slt i32 %clock, 0
  br i1 %counts, label %counter, label %system
counter:
  %ticks = call i64 @llvm.readcyclecounter()
  ret i64 %ticks
system:
  %asked = call i64 @ask(i32 %clock)
  ret i64 %asked
}

define internal i64 @ask(i32 %clock) noinline {
  %time = alloca [2 x i64], align 8
  call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %rest = getelementptr i64, ptr %time, i64 1
  %nanoseconds = load i64, ptr %rest
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %nanoseconds
  ret i64 %sum
}

; Room for twice as many events; whether there is some.
define internal i1 @grow() noinline {
  %room = load i64, ptr @room
  %twice = shl i64 %room, 1
  %new = call i64 @llvm.smax.i64(i64 %twice, i64 1024)
  %most = load i64, ptr @profile_most
  %allowed = icmp sle i64 %new, %most
  br i1 %allowed, label %try, label %none
try:
  %events = load ptr, ptr @profile_events
  %bytes = mul i64 %new, 72
  %larger = call ptr @realloc(ptr %events, i64 %bytes)
  %failed = icmp eq ptr %larger, null
  br i1 %failed, label %none, label %done
done:
  store ptr %larger, ptr @profile_events
  store i64 %new, ptr @room
  ret i1 true
none:
  ret i1 false
}

; From now on `site` runs, which does so many operations on so many bytes; what ran before.
define i64 @tirax_lap(i64 %site, i64 %operations, i64 %bytes, i64 %live) {
entry:
  %before = load i64, ptr @site
  store i64 %site, ptr @site
  %count = load i64, ptr @profile_count
  %room = load i64, ptr @room
  %full = icmp eq i64 %count, %room
  br i1 %full, label %more, label %write
more:
  %grown = call i1 @grow()
  br i1 %grown, label %write, label %lose
lose:
  %lost = load i64, ptr @profile_lost
  %lost1 = add i64 %lost, 1
  store i64 %lost1, ptr @profile_lost
  ret i64 %before
write:
  %events = load ptr, ptr @profile_events
  %event = getelementptr %event, ptr %events, i64 %count
  store %event zeroinitializer, ptr %event
  %site.at = getelementptr %event, ptr %event, i64 0, i32 1
  store i64 %site, ptr %site.at
  %operations.at = getelementptr %event, ptr %event, i64 0, i32 2
  store i64 %operations, ptr %operations.at
  %bytes.at = getelementptr %event, ptr %event, i64 0, i32 3
  store i64 %bytes, ptr %bytes.at
  %live.at = getelementptr %event, ptr %event, i64 0, i32 4
  store i64 %live, ptr %live.at
  %next = add i64 %count, 1
  store i64 %next, ptr @profile_count
  %time = call i64 @profile_now()
  store i64 %time, ptr %event
  ret i64 %before
}

; A function begins, whose row is given: what ran before; -2 where its call is not measured, or is another thread's.
define i64 @tirax_enter(i64 %site, ptr %row) {
  %ran = load i64, ptr %row
  %ran1 = add i64 %ran, 1
  store i64 %ran1, ptr %row
  %thread = call i64 @pthread_self()
  %owner = load i64, ptr @profile_owner
  %free = icmp eq i64 %owner, 0
  br i1 %free, label %outermost, label %within
within:
  %own = icmp eq i64 %owner, %thread
  br i1 %own, label %deeper, label %not
deeper:
  %depth = load i64, ptr @depth
  %depth1 = add i64 %depth, 1
  store i64 %depth1, ptr @depth
  %measured = load i1, ptr @measured
  br i1 %measured, label %lap, label %not
lap:
  %outer = call i64 @tirax_lap(i64 %site, i64 -1, i64 -1, i64 -1)
  ret i64 %outer
not:
  ret i64 -2
outermost:
  %on = load i1, ptr @profile_on
  br i1 %on, label %first, label %not
first:
  %calls.before = load i64, ptr @profile_calls
  %calls.now = add i64 %calls.before, 1
  store i64 %calls.now, ptr @profile_calls
  store i64 %thread, ptr @profile_owner
  store i64 1, ptr @depth
  %left.at = getelementptr %row, ptr %row, i64 0, i32 1
  %left = load i64, ptr %left.at
  %now = icmp eq i64 %left, 0
  br i1 %now, label %measure, label %skip
skip:
  %left1 = sub i64 %left, 1
  store i64 %left1, ptr %left.at
  ret i64 -2
measure:
  store i1 true, ptr @measured
  store i64 -1, ptr @site
  %count = load i64, ptr @profile_count
  store i64 %count, ptr @first
  call i64 @tirax_lap(i64 %site, i64 -1, i64 -1, i64 -1)
  %events = load ptr, ptr @profile_events
  %event = getelementptr %event, ptr %events, i64 %count
  %after = load i64, ptr @profile_count
  %lost = icmp eq i64 %after, %count
  br i1 %lost, label %done, label %begin
begin:
  %drawn.at = getelementptr %row, ptr %row, i64 0, i32 2
  %drawn = load i64, ptr %drawn.at
  %calls = add i64 %drawn, 1
  %calls.at = getelementptr %event, ptr %event, i64 0, i32 8
  store i64 %calls, ptr %calls.at
  %time = load i64, ptr %event
  store i64 %time, ptr @begin
  br label %done
done:
  ret i64 -1
}

; A function ends, before which something ran.
define void @tirax_leave(i64 %before, ptr %row) {
  %thread = call i64 @pthread_self()
  %owner = load i64, ptr @profile_owner
  %own = icmp eq i64 %owner, %thread
  br i1 %own, label %inside, label %done
inside:
  %depth = load i64, ptr @depth
  %depth1 = sub i64 %depth, 1
  store i64 %depth1, ptr @depth
  %last = icmp eq i64 %depth1, 0
  %owner1 = select i1 %last, i64 0, i64 %owner
  store i64 %owner1, ptr @profile_owner
  %measured = load i1, ptr @measured
  br i1 %measured, label %lap, label %done
lap:
  call i64 @tirax_lap(i64 %before, i64 -1, i64 -1, i64 -1)
  br i1 %last, label %end, label %done
end:
  store i1 false, ptr @measured
  %part = load i64, ptr @profile_part
  %all = icmp eq i64 %part, 0
  br i1 %all, label %done, label %draw
draw:
  call void @draw(ptr %row)
  br label %done
done:
  ret void
}

; How many calls of a function are left out behind the one that ended, so that its marks cost a small part of all: by
; chance, since calls may come in patterns. At first few are, so that enough of them are measured.
define internal void @draw(ptr %row) noinline {
  %now = call i64 @profile_now()
  %begin = load i64, ptr @begin
  %took = sub i64 %now, %begin
  %took1 = call i64 @llvm.smax.i64(i64 %took, i64 1)
  %count = load i64, ptr @profile_count
  %first = load i64, ptr @first
  %marks = sub i64 %count, %first
  %price = load i64, ptr @profile_price
  %cost = mul i64 %marks, %price
  %part = load i64, ptr @profile_part
  %scaled = mul i64 %cost, %part
  %cheap = udiv i64 %scaled, %took1
  %ran = load i64, ptr %row
  %early = lshr i64 %ran, 6
  %most = call i64 @llvm.umin.i64(i64 %cheap, i64 %early)      ; so many on average
  %twice = shl i64 %most, 1
  %range = or i64 %twice, 1
  %mixed = mul i64 %now, 6364136223846793005
  %high = lshr i64 %mixed, 33
  %drawn = urem i64 %high, %range
  %left.at = getelementptr %row, ptr %row, i64 0, i32 1
  store i64 %drawn, ptr %left.at
  %drawn.at = getelementptr %row, ptr %row, i64 0, i32 2
  store i64 %drawn, ptr %drawn.at
  ret void
}

; Ticks that a mark takes.
define i64 @profile_try() {
entry:
  %begin = call i64 @profile_now()
  br label %next
next:
  %i = phi i64 [0, %entry], [%i1, %next]
  call i64 @tirax_lap(i64 -1, i64 -1, i64 -1, i64 -1)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 1024
  br i1 %more, label %next, label %done
done:
  %end = call i64 @profile_now()
  %took = sub i64 %end, %begin
  %each = lshr i64 %took, 10
  %price = call i64 @llvm.smax.i64(i64 %each, i64 1)
  ret i64 %price
}

; Forget all events, but not their memory.
define void @profile_reset() {
  store i64 0, ptr @profile_count
  store i64 0, ptr @profile_lost
  store i64 0, ptr @profile_calls
  store i64 -1, ptr @site
  ret void
}

; Give their memory back, too.
define void @profile_release() {
  call void @profile_reset()
  %events = load ptr, ptr @profile_events
  call void @free(ptr %events)
  store ptr null, ptr @profile_events
  store i64 0, ptr @room
  ret void
}

; The place of a thread among the workers; null where there are too many.
define internal ptr @place(i64 %thread) {
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%i1, %next]
  %at = getelementptr [256 x %worker], ptr @workers, i64 0, i64 %i
  %pair = cmpxchg ptr %at, i64 0, i64 %thread monotonic monotonic
  %old = extractvalue {i64, i1} %pair, 0
  %new = extractvalue {i64, i1} %pair, 1
  %own = icmp eq i64 %old, %thread
  %mine = or i1 %new, %own
  br i1 %mine, label %done, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 256
  br i1 %more, label %look, label %none
done:
  ret ptr %at
none:
  ret ptr null
}

; A part of the loop, timed. All of it at once is what lasts anyway: one thread runs it, as a loop that is none of threads.
define internal void @timed(ptr %unused, i64 %from, i64 %to) {
  %function = load ptr, ptr @function
  %context = load ptr, ptr @context
  %first = load i64, ptr @from
  %last = load i64, ptr @to
  %from.first = icmp eq i64 %from, %first
  %to.last = icmp eq i64 %to, %last
  %whole = and i1 %from.first, %to.last
  br i1 %whole, label %alone, label %part
alone:
  call void %function(ptr %context, i64 %from, i64 %to)
  ret void
part:
  %begin = call i64 @profile_now()
  call void %function(ptr %context, i64 %from, i64 %to)
  %end = call i64 @profile_now()
  %thread = call i64 @pthread_self()
  %at = call ptr @place(i64 %thread)
  %none = icmp eq ptr %at, null
  br i1 %none, label %done, label %add
add:
  %busy.at = getelementptr %worker, ptr %at, i64 0, i32 1
  %busy = load i64, ptr %busy.at
  %took = sub i64 %end, %begin
  %sum = add i64 %busy, %took
  store i64 %sum, ptr %busy.at
  br label %done
done:
  ret void
}

; Add what the workers did to the event that lasts, and forget it.
define internal void @account() {
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%i1, %take]
  %sum = phi i64 [0, %entry], [%sum1, %take]
  %most = phi i64 [0, %entry], [%most1, %take]
  %at = getelementptr [256 x %worker], ptr @workers, i64 0, i64 %i
  %thread = load i64, ptr %at
  %some = icmp ne i64 %thread, 0
  br i1 %some, label %take, label %write
take:
  %busy.at = getelementptr %worker, ptr %at, i64 0, i32 1
  %busy = load i64, ptr %busy.at
  %sum1 = add i64 %sum, %busy
  %most1 = call i64 @llvm.smax.i64(i64 %most, i64 %busy)
  store i64 0, ptr %at
  store i64 0, ptr %busy.at
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 256
  br i1 %more, label %look, label %write
write:
  %threads = phi i64 [%i, %look], [%i1, %take]
  %busy.all = phi i64 [%sum, %look], [%sum1, %take]
  %longest = phi i64 [%most, %look], [%most1, %take]
  %count = load i64, ptr @profile_count
  %empty = icmp eq i64 %count, 0
  %none = icmp eq i64 %threads, 0
  %nothing = or i1 %empty, %none
  br i1 %nothing, label %done, label %add
add:
  %last = sub i64 %count, 1
  %events = load ptr, ptr @profile_events
  %event = getelementptr %event, ptr %events, i64 %last
  %all.at = getelementptr %event, ptr %event, i64 0, i32 5
  %all = load i64, ptr %all.at
  %all1 = add i64 %all, %busy.all
  store i64 %all1, ptr %all.at
  %might.at = getelementptr %event, ptr %event, i64 0, i32 6
  %might = load i64, ptr %might.at
  %might.loop = mul i64 %longest, %threads
  %might1 = add i64 %might, %might.loop
  store i64 %might1, ptr %might.at
  %threads.at = getelementptr %event, ptr %event, i64 0, i32 7
  %threads.before = load i64, ptr %threads.at
  %threads1 = call i64 @llvm.smax.i64(i64 %threads.before, i64 %threads)
  store i64 %threads1, ptr %threads.at
  br label %done
done:
  ret void
}

; In the place of tirax_parallel_for. Loops inside of loops are part of them.
define void @profile_parallel_for(ptr %function, ptr %context, i64 %begin, i64 %end, i64 %grain, i64 %limit) {
entry:
  %pool = load ptr, ptr @profile_pool
  %measured = load i1, ptr @measured
  br i1 %measured, label %asked, label %plain
asked:
  %inside = load i32, ptr @inside
  %nested = icmp ne i32 %inside, 0
  br i1 %nested, label %plain, label %own
own:
  %thread = call i64 @pthread_self()
  %owner = load i64, ptr @profile_owner
  %mine = icmp eq i64 %owner, %thread
  br i1 %mine, label %outer, label %plain
plain:
  call void %pool(ptr %function, ptr %context, i64 %begin, i64 %end, i64 %grain, i64 %limit)
  ret void
outer:
  store i32 1, ptr @inside
  store ptr %function, ptr @function
  store ptr %context, ptr @context
  store i64 %begin, ptr @from
  store i64 %end, ptr @to
  call void %pool(ptr @timed, ptr null, i64 %begin, i64 %end, i64 %grain, i64 %limit)
  store i32 0, ptr @inside
  call void @account()
  ret void
}
