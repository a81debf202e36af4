namespace Weir.Dataflow.Tests.Probes;

/// <summary>A scheduler whose tasks run when the test says so, on the test's thread.</summary>
public sealed class ManualScheduler : TaskScheduler
{
    private readonly ConcurrentQueue<Task> _tasks = new();
    private int _queued;

    /// <summary>How many tasks were ever queued.</summary>
    public int Queued => Volatile.Read(ref _queued);

    public int Waiting => _tasks.Count;

    /// <summary>Whether it takes no task any more.</summary>
    public bool Throws { get; set; }

    public bool RunOne()
    {
        if (!_tasks.TryDequeue(out Task? task))
        {
            return false;
        }

        TryExecuteTask(task);
        return true;
    }

    public int RunAll()
    {
        int ran = 0;
        while (RunOne())
        {
            ran++;
        }

        return ran;
    }

    protected override void QueueTask(Task task)
    {
        if (Throws)
        {
            throw new NotSupportedException("no");
        }

        Interlocked.Increment(ref _queued);
        _tasks.Enqueue(task);
    }

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;

    protected override IEnumerable<Task> GetScheduledTasks() => _tasks;
}
