namespace Weir.Core.Dispatch;

/// <summary>The thread pool.</summary>
internal sealed class PoolExecutor : Executor
{
    public static PoolExecutor Instance { get; } = new();

    public override int Threads => Environment.ProcessorCount;

    // A thread that is not the pool's or carries a context belongs to somebody who completed an item: workers do not go on there.
    public override bool MayRunHere => Thread.CurrentThread.IsThreadPoolThread && SynchronizationContext.Current is null;

    public override long Quantum { get; } = System.Diagnostics.Stopwatch.Frequency / 50;

    public override void Queue(IThreadPoolWorkItem worker) => ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
}
