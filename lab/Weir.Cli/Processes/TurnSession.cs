namespace Weir.Cli.Processes;

/// <summary>A measuring process that stays alive, and makes a round on request.</summary>
internal sealed class TurnSession
{
    private readonly TaskCompletionSource<bool> _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Channel<MeasureAnswer> _ended = Channel.CreateUnbounded<MeasureAnswer>();
    private readonly Channel<string> _words = Channel.CreateUnbounded<string>();
    private readonly Action<string> _waiting;
    private readonly Task _run;
    private int _practice;

    /// <summary>Starts it.</summary>
    /// <param name="host">Whether there are processes, and what stops them.</param>
    /// <param name="order">What it measures.</param>
    /// <param name="printed">Gets each line that the measured code prints.</param>
    /// <param name="waiting">Is told what is waited for.</param>
    public TurnSession(WeirHost host, WorkerOrder order, Action<string> printed, Action<string> waiting)
    {
        _waiting = waiting;
        Order = order;
        Task run = host.Measure.UseProcesses
            ? MeasuringProcess.RunAsync(
                MeasuringProcess.WorkerKind, order, order.Variables(), Receive, printed, host.Stop, _words.Reader)
            : Task.Run(() => InThisProcessAsync(order, host.Stop), CancellationToken.None);
        _run = EndAsync(run);
    }

    /// <summary>What it measures.</summary>
    public WorkerOrder Order { get; }

    /// <summary>Ends when it is warm. Whether it will make rounds.</summary>
    public Task<bool> Ready => _ready.Task;

    /// <summary>The rounds with all their figures, and what has to be known about them; when it has ended.</summary>
    public List<MeasureAnswer> Answers { get; } = [];

    /// <summary>How many operations go between two looks at the clock, as it found when it was warm; <see langword="null"/> if that has no one size.</summary>
    public int? Batch { get; private set; }

    /// <summary>Lets it take this many instead. Before its first round.</summary>
    public void Take(int batch) => _words.Writer.TryWrite(TurnSignal.OfBatch(batch));

    /// <summary>Lets it make a round.</summary>
    /// <returns>How fast it was; <see langword="null"/> when it has ended instead.</returns>
    public async Task<MeasureAnswer?> NextAsync()
    {
        _words.Writer.TryWrite(TurnSignal.Go);
        return await _ended.Reader.WaitToReadAsync(CancellationToken.None) && _ended.Reader.TryRead(out MeasureAnswer? answer)
            ? answer
            : null;
    }

    /// <summary>Lets it make a round that does not count.</summary>
    public Task PractiseAsync()
    {
        _practice++;
        return NextAsync();
    }

    /// <summary>Says that there are enough rounds, and waits for its end.</summary>
    /// <exception cref="InvalidOperationException">It could not measure.</exception>
    public async Task EndAsync()
    {
        _words.Writer.TryWrite(TurnSignal.Enough);
        _words.Writer.TryComplete();
        await _run;
    }

    private async Task InThisProcessAsync(WorkerOrder order, CancellationToken stop)
    {
        using TurnSignal signal = new();
        Task words = ForwardAsync(signal);
        await foreach (MeasureAnswer answer in WorkerRounds.RunAsync(order, Receive, signal, stop))
        {
            Receive(answer);
        }

        _words.Writer.TryComplete();
        await words;
    }

    private async Task ForwardAsync(TurnSignal signal)
    {
        await foreach (string word in _words.Reader.ReadAllAsync(CancellationToken.None))
        {
            signal.TryReceive(word);
        }
    }

    private async Task EndAsync(Task run)
    {
        try
        {
            await run;
        }
        finally
        {
            _ready.TrySetResult(false);
            _ended.Writer.TryComplete();
        }
    }

    private void Receive(MeasureAnswer answer)
    {
        if (answer.Waiting is { } what)
        {
            _waiting(what);
        }
        else if (answer.IsReady)
        {
            Batch = answer.Batch;
            _ready.TrySetResult(true);
        }
        else if (answer is { Round: not null, IsStuck: false } && _practice > 0)
        {
            _practice--;
        }
        else if (answer.Rate is null)
        {
            Answers.Add(answer);
        }
        else if (_ready.Task.IsCompleted)
        {
            _ended.Writer.TryWrite(answer);
        }
    }
}
