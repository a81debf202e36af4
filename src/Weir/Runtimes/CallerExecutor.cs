using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>
/// Runs the worker of a call of the <see cref="DirectRuntime"/> on its caller's thread, at the start and at each step of a stream; what continues later
/// continues on the pool.
/// </summary>
internal sealed class CallerExecutor : Executor
{
    public static readonly CallerExecutor Instance = new();

    public override int Threads => 1;

    public override bool CanRunOnCurrentThread => PoolExecutor.Instance.CanRunOnCurrentThread;

    // The caller has no task to wait for yet, or a stream whose step has not returned. So none of its code runs at the end.
    public override bool CanEndOnCurrentThread => true;

    public override bool RunsForConsumerHere => true;

    public override long Quantum => long.MaxValue;

    public override void Queue(IThreadPoolWorkItem worker) => PoolExecutor.Instance.Queue(worker);

    public override void QueueUrgently(IThreadPoolWorkItem worker) => PoolExecutor.Instance.QueueUrgently(worker);

    public override void QueueNext(IThreadPoolWorkItem worker) => worker.Execute();

    public override void QueueForConsumer(IThreadPoolWorkItem worker) => worker.Execute();
}
