namespace Weir.Dataflow.Tests.Probes;

/// <summary>A thread for each task; but QueueTask itself waits at a gate once the test says so, unless the test's own thread calls it.</summary>
public sealed class GatedScheduler(Gate gate) : TaskScheduler
{
    private readonly Thread _owner = Thread.CurrentThread;
    private volatile bool _holds;
    private int _held;

    /// <summary>How many calls of QueueTask came to the gate.</summary>
    public int Held => Volatile.Read(ref _held);

    public void Hold() => _holds = true;

    protected override void QueueTask(Task task)
    {
        if (_holds && Thread.CurrentThread != _owner)
        {
            Interlocked.Increment(ref _held);
            gate.Pass();
        }

        new Thread(() => TryExecuteTask(task)) { IsBackground = true }.Start();
    }

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;

    protected override IEnumerable<Task> GetScheduledTasks() => [];
}
