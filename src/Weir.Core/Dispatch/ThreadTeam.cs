using System.Diagnostics;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Dedicated threads, which start now and are kept unless they are to come and go with the work. Workers of all runs wait in one queue and get a slice of a
/// millisecond each, so a run of one item does not wait for a run of a million.
/// </summary>
internal sealed class ThreadTeam(int threads, string name, bool keeps = true) : Executor, IDisposable
{
    private readonly ElasticTeam _team = new(threads, name, keeps);

    public override int Threads => threads;

    // Code that completes an item on a thread of the team does so inside another item, which would have to wait for everything that follows here.
    public override bool CanRunOnCurrentThread => false;

    public override long Quantum { get; } = Stopwatch.Frequency / 1000;

    public override object? CurrentHost => _team.CurrentHost;

    /// <summary>How many threads were replaced because they were stuck or died.</summary>
    public long Replaced => _team.Replaced;

    public override void Queue(IThreadPoolWorkItem worker) => _team.Queue(worker);

    public override void ReplaceHost(object host) => _team.ReplaceHost(host);

    public void Dispose() => _team.Dispose();
}
