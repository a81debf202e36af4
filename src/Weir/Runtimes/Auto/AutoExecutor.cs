using Weir.Core.Dispatch;

namespace Weir.Runtimes;

/// <summary>The threads of one call of an <see cref="AutoRuntime"/>, which are the pool's or the runtime's own, and how many of them may compute.</summary>
internal sealed class AutoExecutor(ThreadTeam team, int threads) : Executor
{
    private int _threads = threads;
    private volatile bool _usesTeam;

    public override int Threads => Volatile.Read(ref _threads);

    public override bool CanRunOnCurrentThread => PoolExecutor.Instance.CanRunOnCurrentThread;

    public override long Quantum => PoolExecutor.Instance.Quantum;

    public override bool MayKeepThread => Current.MayKeepThread;

    public override object? CurrentHost => team.CurrentHost;

    /// <summary>Whether workers get the runtime's own threads from now on. Running workers stay where they are until their slice ends.</summary>
    public bool UsesTeam
    {
        get => _usesTeam;
        set => _usesTeam = value;
    }

    private Executor Current => _usesTeam ? team : PoolExecutor.Instance;

    public void SetThreads(int threads) => Volatile.Write(ref _threads, threads);

    public override void ReplaceHost(object host) => team.ReplaceHost(host);

    public override void Queue(IThreadPoolWorkItem worker) => Current.Queue(worker);

    public override void QueueUrgently(IThreadPoolWorkItem worker) => Current.QueueUrgently(worker);

    public override void QueueWhileBlocked(IThreadPoolWorkItem worker) => Current.QueueWhileBlocked(worker);

    public override void QueueNext(IThreadPoolWorkItem worker) => Current.QueueNext(worker);
}
