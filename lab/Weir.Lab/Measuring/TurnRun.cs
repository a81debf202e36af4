using System.Threading.Channels;
using Weir.Lab.Workers;

namespace Weir.Lab.Measuring;

/// <summary>A run in this process that makes a round whenever it is told to. Between its rounds it holds no thread.</summary>
internal sealed class TurnRun : IRunObserver
{
    private readonly TaskCompletionSource<bool> _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Channel<bool> _turns = Channel.CreateUnbounded<bool>();
    private readonly Channel<WorkerRound> _ended = Channel.CreateUnbounded<WorkerRound>();
    private readonly Action<string>? _waiting;
    private readonly Task<WorkerRun> _run;

    /// <summary>Starts it.</summary>
    /// <param name="workload">What it measures.</param>
    /// <param name="spec">How.</param>
    /// <param name="waiting">Hears what is waited for.</param>
    /// <param name="stop">Ends it.</param>
    public TurnRun(IWorkload workload, WorkerRunSpec spec, Action<string>? waiting, CancellationToken stop)
    {
        _waiting = waiting;
        _run = RunAsync(workload, spec, stop);
    }

    /// <summary>Ends when it is warm. Whether it will make rounds.</summary>
    public Task<bool> Ready => _ready.Task;

    /// <summary>Lets it make a round.</summary>
    /// <returns>The round; <see langword="null"/> when it has ended instead.</returns>
    public async Task<WorkerRound?> NextAsync()
    {
        _turns.Writer.TryWrite(true);
        return await _ended.Reader.WaitToReadAsync(CancellationToken.None).ConfigureAwait(false) && _ended.Reader.TryRead(out WorkerRound? round)
            ? round
            : null;
    }

    /// <summary>Says that there are enough rounds, and waits for its end.</summary>
    /// <returns>The run; what it threw is thrown.</returns>
    public Task<WorkerRun> EndAsync()
    {
        _turns.Writer.TryComplete();
        return _run;
    }

    public void WarmingUp()
    {
    }

    public async ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken)
    {
        _ready.TrySetResult(true);
        try
        {
            return await _turns.Reader.WaitToReadAsync(cancellationToken).ConfigureAwait(false) && _turns.Reader.TryRead(out _);
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    public void RoundStarted(int round, int rounds)
    {
    }

    public void RoundEnded(WorkerRound round, int rounds) => _ended.Writer.TryWrite(round);

    public void Waiting(string what) => _waiting?.Invoke(what);

    private async Task<WorkerRun> RunAsync(IWorkload workload, WorkerRunSpec spec, CancellationToken stop)
    {
        try
        {
            return await new WorkerRunner(spec, this).RunAsync(workload, stop).ConfigureAwait(false);
        }
        finally
        {
            _ready.TrySetResult(false);
            _ended.Writer.TryComplete();
        }
    }
}
