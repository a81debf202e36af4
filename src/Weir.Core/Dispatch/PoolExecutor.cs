namespace Weir.Core.Dispatch;

/// <summary>The thread pool.</summary>
internal sealed class PoolExecutor : Executor
{
    public static PoolExecutor Instance { get; } = new();

    public override int Threads => Environment.ProcessorCount;

    // A thread that carries a context belongs to somebody (a user interface, a test framework): workers do not run there.
    public override bool MayRunHere => SynchronizationContext.Current is null;

    public override long Quantum { get; } = System.Diagnostics.Stopwatch.Frequency / 50;

    public override void Queue(IThreadPoolWorkItem worker) => ThreadPool.UnsafeQueueUserWorkItem(worker, preferLocal: false);
}
