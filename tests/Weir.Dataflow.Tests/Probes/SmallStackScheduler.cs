namespace Weir.Dataflow.Tests.Probes;

/// <summary>Runs tasks on threads of its own with little stack: what calls itself once a message ends the process there.</summary>
public sealed class SmallStackScheduler : TaskScheduler, IDisposable
{
    public const int StackBytes = 256 * 1024;

    private readonly BlockingCollection<Task> _tasks = [];

    public SmallStackScheduler(int threads = 2)
    {
        for (int i = 0; i < threads; i++)
        {
            new Thread(Work, StackBytes) { IsBackground = true }.Start();
        }
    }

    /// <summary>Runs something on a thread with little stack, and waits for it.</summary>
    public static void Run(Action action)
    {
        Exception? failure = null;
        var thread = new Thread(
            () =>
            {
                try
                {
                    action();
                }
                catch (Exception e)
                {
                    failure = e;
                }
            },
            StackBytes);
        thread.Start();
        Assert.True(thread.Join(Eventually.Patience), "The thread does not come back.");
        Assert.Null(failure);
    }

    public void Dispose() => _tasks.CompleteAdding();

    protected override void QueueTask(Task task) => _tasks.Add(task);

    protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;

    protected override IEnumerable<Task> GetScheduledTasks() => _tasks;

    private void Work()
    {
        foreach (Task task in _tasks.GetConsumingEnumerable())
        {
            TryExecuteTask(task);
        }
    }
}
