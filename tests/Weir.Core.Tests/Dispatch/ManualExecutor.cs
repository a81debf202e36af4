using Weir.Core.Dispatch;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

/// <summary>An executor whose work runs when the test says so, on the test's own thread, in any order it likes.</summary>
/// <remarks>The stall watch is real, so on a busy machine it may queue a worker at any time, from its own thread.</remarks>
internal sealed class ManualExecutor(int threads = 2) : Executor
{
    private readonly Lock _lock = new();
    private readonly List<IThreadPoolWorkItem> _queue = [];

    public override int Threads => threads;

    public override bool CanRunOnCurrentThread => RunsHere;

    /// <summary>Whether what an ended call continues runs where the call ends. Otherwise it is queued.</summary>
    public bool RunsHere { get; set; } = true;

    /// <summary>After how many Stopwatch ticks a worker gives its thread to others: never, unless the test wants it.</summary>
    public long MostTicks { get; init; } = long.MaxValue / 2;

    public override long Quantum => MostTicks;

    /// <summary>Whether workers whose calls block may keep their thread.</summary>
    public bool Keeps { get; init; }

    public override bool MayKeepThread => Keeps;

    /// <summary>Whether there may be threads for more workers than <see cref="Threads"/>.</summary>
    public bool Grows { get; init; }

    public override bool HasThreadsBeyond => Grows;

    public int Queued
    {
        get
        {
            lock (_lock)
            {
                return _queue.Count;
            }
        }
    }

    public override void Queue(IThreadPoolWorkItem worker)
    {
        lock (_lock)
        {
            _queue.Add(worker);
        }
    }

    /// <summary>Starts a run of which the test alone says what runs: were its thread held up inside a worker, the watch would call another one.</summary>
    public static void Start(Pump run, CancellationToken cancellationToken = default)
    {
        // It cannot begin a look meanwhile, in which it would find the run.
        lock (StallWatch.RunsLock)
        {
            run.Start(1, cancellationToken);
            StallWatch.Remove(run);
        }
    }

    public void RunOne(int at = 0)
    {
        IThreadPoolWorkItem worker;
        lock (_lock)
        {
            worker = _queue[at];
            _queue.RemoveAt(at);
        }

        worker.Execute();
    }

    public void RunAll()
    {
        while (Queued > 0)
        {
            RunOne();
        }
    }
}
