namespace Weir.Cli.Processes;

/// <summary>The processes of several arms, the same number for each. They stay alive and make a round when it is their turn.</summary>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="orders">The arms.</param>
/// <param name="processes">How many processes each arm has.</param>
/// <param name="most">How many rounds there are at most, for the progress.</param>
/// <param name="progress">Is told of each round.</param>
internal sealed class TurnSessions(WeirHost host, IReadOnlyList<WorkerOrder> orders, int processes, int most, RunProgress progress)
{
    private const int CanaryPieces = 40;
    private const int CanaryReadings = 3;

    // Processes of the same work find batches that differ by a factor of two; between calls of two microseconds and a little less, from 1 to 8.
    private const int MostTimesLarger = 8;
    private static readonly TimeSpan LongestRest = TimeSpan.FromMilliseconds(300);
    private readonly PrintedOnce _printed = new(progress);
    private readonly List<TurnSession>[] _arms = [.. orders.Select(static _ => new List<TurnSession>())];
    private readonly Dictionary<TurnSession, List<(int Order, int Turn)>> _numbers = [];
    private double _variation;
    private int _rounds;
    private int? _batch;

    /// <summary>How many processes each arm had before these.</summary>
    public int First { get; init; }

    /// <summary>How many rounds were made before these, by all arms.</summary>
    public int Made { get => _rounds; init => _rounds = value; }

    /// <summary>
    /// How many short operations go between two looks at the clock in all of them: what is given, or else what they agree on when they are warm;
    /// <see langword="null"/> where some are so much longer than others that each has its own.
    /// </summary>
    public int? Batch { get => _batch; init => _batch = value; }

    /// <summary>
    /// The batch that all take, of those that they have found: the largest, of which a look at the clock costs each call the least. But if some calls are so
    /// long that each is timed, they all are.
    /// </summary>
    /// <param name="found">What each has found; <see langword="null"/> if that has no one size.</param>
    /// <returns>The batch; <see langword="null"/> if some calls are so much longer than others that each keeps its own.</returns>
    internal static int? AgreedOf(IReadOnlyList<int?> found) =>
        found.Count == 0 || found.Contains(null) || found.Max() > MostTimesLarger * found.Min() ? null
        : found.Min() == 1 ? 1
        : found.Max();

    /// <summary>Starts all of them at once, because much of a warm-up is waiting for the compiler, and waits until all are warm.</summary>
    public async Task WarmUpAsync()
    {
        foreach (int arm in Enumerable.Range(0, processes * orders.Count).Select(i => i % orders.Count))
        {
            _arms[arm].Add(Start(orders[arm]));
        }

        TurnSession[] all = [.. _arms.SelectMany(static a => a)];
        for (int i = 0; i < all.Length; i++)
        {
            progress.Begin($"warming up {all.Length} processes", i, all.Length);
            await all[i].Ready;
        }

        Agree(all);
        if (First == 0)
        {
            // This process has code too that is compiled once it is used, beside the first rounds otherwise.
            foreach (TurnSession session in all)
            {
                await session.PractiseAsync();
            }

            await CompilerRest.WaitAsync(LongestRest, host.Stop);
        }

        _variation = LeastVariation();
    }

    /// <summary>Makes a round.</summary>
    /// <param name="arm">The arm.</param>
    /// <param name="process">Which of its processes, from 0.</param>
    /// <param name="turn">Which turn it belongs to, from 0.</param>
    /// <returns>How fast it was; <see langword="null"/> when the process has ended instead.</returns>
    public async Task<MeasureAnswer?> RoundAsync(int arm, int process, int turn)
    {
        if (process >= _arms[arm].Count)
        {
            return null;
        }

        TurnSession session = _arms[arm][process];
        progress.Begin(NameOf(session.Order), _rounds, most);
        if (await session.NextAsync() is not { Rate: { } rate } round)
        {
            return null;
        }

        if (!_numbers.TryGetValue(session, out List<(int, int)>? numbers))
        {
            _numbers[session] = numbers = [];
        }

        numbers.Add((++_rounds, turn + 1));
        progress.End($"{NameOf(session.Order)}: {Numbers.Rate(rate)} operations/s", _rounds, most);
        return round;
    }

    /// <summary>Ends them.</summary>
    /// <returns>The rounds of each arm in the order in which they were made, and what has to be known about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> EndAsync()
    {
        // While they wait for a turn: their ends, and reading what they say then, would disturb it.
        _variation = Math.Max(_variation, LeastVariation());
        TurnSession[] all = [.. _arms.SelectMany(static a => a)];
        foreach (TurnSession session in all.Where(static s => s.Order.IsProfiled))
        {
            // One after the other, because each makes another round now. Its result is read below.
            await Task.WhenAny(session.EndAsync());
        }

        await Task.WhenAll(all.Select(static s => s.EndAsync()));
        _printed.WriteOmitted();
        return ([.. _arms.Select(RecordsOf)],
            [.. Finding.Noise(_variation), .. all.SelectMany(static s => s.Answers).SelectMany(static a => a.Findings ?? []).Distinct()]);
    }

    /// <summary>What a round after the last showed under a profiler, by the number of the arm, from 0.</summary>
    public IReadOnlyDictionary<int, ProfileRecord> Profiles() => _arms
        .Select(static (sessions, arm) =>
            (arm, Profile: sessions.SelectMany(static s => s.Answers).Select(static a => a.Profile).FirstOrDefault(static p => p is not null)))
        .Where(static x => x.Profile is not null)
        .ToDictionary(static x => x.arm, static x => x.Profile!);

    // Of some readings: a single piece that waits for one slice of the scheduler makes a variation of half, and neighbours that matter are in each.
    private static double LeastVariation()
    {
        double least = double.MaxValue;
        for (int reading = 0; reading < CanaryReadings && least > Canary.QuietVariation; reading++)
        {
            least = Math.Min(least, Canary.Read(CanaryPieces).Variation);
        }

        return least;
    }

    private void Agree(TurnSession[] all)
    {
        _batch ??= AgreedOf([.. all.Select(static s => s.Batch)]);
        if (_batch is { } batch)
        {
            foreach (TurnSession session in all.Where(s => s.Batch != batch))
            {
                session.Take(batch);
            }
        }
    }

    private TurnSession Start(WorkerOrder order) => new(
        host,
        order.With(static run => run with { TakesTurns = true, Rounds = int.MaxValue }),
        _printed.Print,
        what => progress.WriteLine($"weir: {NameOf(order)}: waiting for {what}; it is abandoned after --timeout."));

    private static string NameOf(WorkerOrder order) => $"{order.Name} x {order.Workers}";

    private IReadOnlyList<RoundRecord> RecordsOf(List<TurnSession> sessions) =>
    [
        .. sessions
            .SelectMany((session, process) => session.Answers.Select(static a => a.Round).OfType<RoundRecord>()
                .Select((round, i) => _numbers.GetValueOrDefault(session) is { } numbers && i < numbers.Count
                    ? round with { Order = numbers[i].Order, Turn = numbers[i].Turn, Process = First + process + 1 }
                    : round with { Order = _rounds + 1, Process = First + process + 1 }))
            .OrderBy(static r => r.Order),
    ];
}

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
