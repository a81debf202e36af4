using System.Collections.Concurrent;

namespace Weir.Explore.Scheduling;

/// <summary>A thread of the system that runs one controlled thread after the other. It is kept for later schedules.</summary>
internal sealed class Worker
{
    private static readonly ConcurrentStack<Worker> Idle = new();
    private ControlledThread? _job;

    private Worker() => new Thread(Loop) { IsBackground = true, Name = "Weir.Explore" }.UnsafeStart();

    public Turn Turn { get; } = new();

    /// <summary>A worker whose next turn runs <paramref name="job"/>.</summary>
    public static Worker For(ControlledThread job)
    {
        Worker worker = Idle.TryPop(out Worker? idle) ? idle : new Worker();
        worker._job = job;
        return worker;
    }

    private void Loop()
    {
        ExecutionContext clean = ExecutionContext.Capture()!;
        while (true)
        {
            Turn.Wait();
            ControlledThread job = _job!;
            _job = null;
            Action afterwards = job.RunToEnd(clean);

            // Idle first: whoever has the turn next may need a worker at once.
            Idle.Push(this);
            afterwards();
        }
    }
}
