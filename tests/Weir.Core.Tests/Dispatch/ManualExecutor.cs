using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch;

/// <summary>An executor whose work runs when the test says so, on the test's own thread, in any order it likes.</summary>
internal sealed class ManualExecutor(int threads = 2) : Executor
{
    private readonly List<IThreadPoolWorkItem> _queue = [];

    public override int Threads => threads;

    public override bool MayRunHere => true;

    public override long Quantum => long.MaxValue / 2;

    public int Queued => _queue.Count;

    public override void Queue(IThreadPoolWorkItem worker) => _queue.Add(worker);

    public void RunOne(int at = 0)
    {
        IThreadPoolWorkItem worker = _queue[at];
        _queue.RemoveAt(at);
        worker.Execute();
    }

    public void RunAll()
    {
        while (_queue.Count > 0)
        {
            RunOne();
        }
    }
}
