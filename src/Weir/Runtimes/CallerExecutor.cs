using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>Runs the first worker of a call of the <see cref="DirectRuntime"/> on its caller's thread; what continues later continues on the pool.</summary>
internal sealed class CallerExecutor : Executor
{
    public static readonly CallerExecutor Instance = new();

    public override int Threads => 1;

    public override bool CanRunOnCurrentThread => PoolExecutor.Instance.CanRunOnCurrentThread;

    public override long Quantum => long.MaxValue;

    public override void Queue(IThreadPoolWorkItem worker) => PoolExecutor.Instance.Queue(worker);

    public override void QueueUrgently(IThreadPoolWorkItem worker) => PoolExecutor.Instance.QueueUrgently(worker);

    public override void QueueNext(IThreadPoolWorkItem worker) => worker.Execute();
}
