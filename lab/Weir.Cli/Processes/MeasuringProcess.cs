using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;
using Weir.Cli.Kit.Processes;
using Weir.Cli.Profiling;
using Weir.Lab.Processes;

namespace Weir.Cli.Processes;

/// <summary>A child process that measures: how it is started, and the lines that it answers with.</summary>
internal static class MeasuringProcess
{
    /// <summary>The command that it runs.</summary>
    public const string Command = "measure";

    /// <summary>The kind of order of the commands over workloads.</summary>
    public const string WorkerKind = "workers";

    private const string Ready = "ready ";
    private const string Rate = "rate ";
    private const string Disturbed = "disturbed";

    /// <summary>Starts a new process of this program that runs rounds.</summary>
    /// <param name="kind">The command that they belong to.</param>
    /// <param name="order">What to do.</param>
    /// <param name="variables">Environment variables that the process gets besides those of this one.</param>
    /// <param name="answer">Gets each round as it ends, and what there is to know at the end.</param>
    /// <param name="printed">Gets each line that the measured code prints.</param>
    /// <param name="stop">Ends it. The current round is returned as partial.</param>
    /// <param name="words">What it is told meanwhile; <see langword="null"/> for nothing.</param>
    /// <exception cref="InvalidOperationException">It could not measure.</exception>
    public static async Task RunAsync<TOrder>(
        string kind, TOrder order, IReadOnlyDictionary<string, string>? variables, Action<MeasureAnswer> answer, Action<string> printed, CancellationToken stop,
        ChannelReader<string>? words = null)
    {
        string? failure = null;
        await SelfProcess.RunAsync(
            [Command, kind],
            JsonSerializer.Serialize(order, MeasureJson.Line),
            line =>
            {
                MeasureAnswer said = AnswerOf(line);
                failure ??= said.Failure;
                answer(said);
            },
            printed,
            variables,
            words,
            stop);
        if (failure is not null && !stop.IsCancellationRequested)
        {
            throw new InvalidOperationException(failure);
        }
    }

    // What is said before and between rounds is no JSON: it must be cheap, and the first JSON has a half second of compiling behind it, beside a round.
    public static string LineOf(MeasureAnswer answer) => answer switch
    {
        { Rate: { } rate } =>
            string.Create(CultureInfo.InvariantCulture, $"{Rate}{rate:R} {answer.Room:R} {(answer.IsDisturbed ? Disturbed : "")}"),
        { IsReady: true } => string.Create(CultureInfo.InvariantCulture, $"{Ready}{answer.Batch}"),
        _ => JsonSerializer.Serialize(answer, MeasureJson.Line),
    };

    public static MeasureAnswer AnswerOf(string line)
    {
        if (line.StartsWith(Ready, StringComparison.Ordinal))
        {
            return new MeasureAnswer(IsReady: true, Batch: int.TryParse(line.AsSpan(Ready.Length), CultureInfo.InvariantCulture, out int batch) ? batch : null);
        }

        if (!line.StartsWith(Rate, StringComparison.Ordinal))
        {
            return JsonSerializer.Deserialize<MeasureAnswer>(line, MeasureJson.Line)!;
        }

        string[] figures = line[Rate.Length..].Split(' ');
        return new MeasureAnswer(
            Rate: double.Parse(figures[0], CultureInfo.InvariantCulture),
            Room: figures[1].Length > 0 ? double.Parse(figures[1], CultureInfo.InvariantCulture) : null,
            IsDisturbed: figures[2] == Disturbed);
    }
}

/// <summary>
/// Runs work in a new process of this program, so that no round inherits the thread pool, the heap or the compiled code of another.
/// </summary>
/// <remarks>
/// The two processes exchange lines over a separate pipe. Standard input and output of the child belong to the measured code: its input is empty, and its
/// output is passed on.
/// </remarks>
internal static class SelfProcess
{
    /// <summary>The line that tells the child to stop.</summary>
    public const string Stop = "stop";

    /// <summary>The last line of the child.</summary>
    public const string End = "end";

    // The child waits for the measured code for two seconds or so, and then sends what it has. What takes it some milliseconds takes seconds on a busy machine,
    // and killed before it has sent that, nothing is left of the run. Whoever will not wait sends the signal again, which ends this process at once.
    private static readonly TimeSpan StopPatience = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(2);

    /// <summary>Runs a command of this program.</summary>
    /// <param name="arguments">The arguments; the name of the pipe is put after them.</param>
    /// <param name="order">What the child is told first.</param>
    /// <param name="answer">Gets each line that the child answers with.</param>
    /// <param name="printed">Gets each line that the child prints.</param>
    /// <param name="variables">Environment variables that the child gets besides its own.</param>
    /// <param name="words">Lines that are sent to the child while it runs; <see langword="null"/> for none.</param>
    /// <param name="stop">Asks the child to stop. It may still answer. If it does not end, it is killed.</param>
    /// <returns>A task that ends with the child.</returns>
    /// <exception cref="InvalidOperationException">The child ended before its last line.</exception>
    public static async Task RunAsync(
        IReadOnlyList<string> arguments,
        string order,
        Action<string> answer,
        Action<string> printed,
        IReadOnlyDictionary<string, string>? variables,
        ChannelReader<string>? words,
        CancellationToken stop)
    {
        // Short, because the path of a socket has to be short.
        string name = $"weir-{RandomNumberGenerator.GetHexString(12, lowercase: true)}";
        await using NamedPipeServerStream pipe = new(
            name, PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.Asynchronous | PipeOptions.CurrentUserOnly);
        using Process child =
            Process.Start(Info([.. arguments, name], variables)) ?? throw new InvalidOperationException("The measuring process could not be started.");
        child.StandardInput.Close();
        PrintedLines output = new(child.StandardOutput, printed);
        PrintedLines errors = new(child.StandardError, printed);
        Task ended = child.WaitForExitAsync(CancellationToken.None);
        bool said = await ExchangeAsync(pipe, order, answer, words, child, ended, stop);

        // A thread that the measured code has left behind would keep the child alive. One that breaks off may still be writing why, which nobody may cut short.
        TimeSpan patience = said || stop.IsCancellationRequested ? EndPatience : StopPatience;
        bool isKilled = await Task.WhenAny(ended, Task.Delay(patience, CancellationToken.None)) != ended;
        if (isKilled)
        {
            Kill(child);
            await ended;
        }

        // A process that the measured code has started would keep the output open.
        await Task.WhenAny(Task.WhenAll(output.Done, errors.Done), Task.Delay(EndPatience, CancellationToken.None));
        if (!said && !stop.IsCancellationRequested)
        {
            throw new InvalidOperationException(
                (isKilled
                    ? $"A measuring process broke off before everything was measured, and was killed when it had not ended after {Numbers.Time(patience)}"
                    : $"A measuring process ended with code {child.ExitCode} before everything was measured")
                    + (errors.Last.Length > 0 ? ": " + errors.Last : "."));
        }
    }

    // Whether the child has sent its last line.
    private static async Task<bool> ExchangeAsync(
        NamedPipeServerStream pipe, string order, Action<string> answer, ChannelReader<string>? words, Process child, Task ended, CancellationToken stop)
    {
        using CancellationTokenSource over = CancellationTokenSource.CreateLinkedTokenSource(stop);
        Task connected = pipe.WaitForConnectionAsync(over.Token);
        if (await Task.WhenAny(connected, ended) != connected)
        {
            await over.CancelAsync();
            return false;
        }

        if (!connected.IsCompletedSuccessfully)
        {
            // It has nothing to tell yet, and on a busy machine it would start for seconds before it could be asked to stop.
            Kill(child);
            return false;
        }

        try
        {
            await WriteAsync(pipe, order);
            _ = words is null ? Task.CompletedTask : ForwardAsync(pipe, words);
            using CancellationTokenRegistration stopping = stop.UnsafeRegister(_ => _ = StopAsync(pipe, child, ended), null);
            using StreamReader reader = new(pipe, leaveOpen: true);
            while (await reader.ReadLineAsync(CancellationToken.None) is { } line)
            {
                if (line == End)
                {
                    return true;
                }

                answer(line);
            }
        }
        catch (IOException)
        {
            // The child has ended; its exit code and its output tell why.
        }

        return false;
    }

    private static async Task ForwardAsync(NamedPipeServerStream pipe, ChannelReader<string> words)
    {
        try
        {
            await foreach (string word in words.ReadAllAsync(CancellationToken.None))
            {
                await WriteAsync(pipe, word);
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // The child has ended, which its exit reports.
        }
    }

    private static async Task StopAsync(NamedPipeServerStream pipe, Process child, Task ended)
    {
        try
        {
            await WriteAsync(pipe, Stop);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // It is gone already.
        }

        if (await Task.WhenAny(ended, Task.Delay(StopPatience, CancellationToken.None)) != ended)
        {
            Kill(child);
        }
    }

    private static ValueTask WriteAsync(NamedPipeServerStream pipe, string line) =>
        pipe.WriteAsync(Encoding.UTF8.GetBytes(line + "\n"), CancellationToken.None);

    private static void Kill(Process child)
    {
        try
        {
            child.Kill(entireProcessTree: true);
        }
        catch (InvalidOperationException)
        {
            // It has ended.
        }
    }

    private static ProcessStartInfo Info(IReadOnlyList<string> arguments, IReadOnlyDictionary<string, string>? variables)
    {
        ProcessStartInfo info = OwnProgram.StartInfo(Assembly.GetExecutingAssembly(), arguments);
        info.RedirectStandardInput = true;
        info.RedirectStandardOutput = true;
        info.RedirectStandardError = true;
        foreach ((string name, string value) in variables ?? new Dictionary<string, string>())
        {
            info.Environment[name] = value;
        }

        return info;
    }
}

/// <summary>One line that a measuring process answers with.</summary>
/// <param name="Round">A round that has ended.</param>
/// <param name="Findings">At the end, the findings about all of them.</param>
/// <param name="Rate">The rate of a round whose other figures follow later.</param>
/// <param name="Room">With the rate, the share of the machine's processor time that other programs did not take.</param>
/// <param name="IsDisturbed">With the rate, whether the round does not count.</param>
/// <param name="Waiting">What is waited for.</param>
/// <param name="Failure">Why it cannot measure.</param>
/// <param name="IsStuck">Whether the round was abandoned because a worker hung.</param>
/// <param name="IsReady">Whether the process is warm and waits for its first turn.</param>
/// <param name="Batch">When it is ready, how many operations go between two looks at the clock, as its warm-up found.</param>
/// <param name="Profile">What a round after these showed under a profiler.</param>
internal sealed record MeasureAnswer(
    RoundRecord? Round = null, IReadOnlyList<Finding>? Findings = null, double? Rate = null, double? Room = null, bool IsDisturbed = false,
    string? Waiting = null, string? Failure = null, bool IsStuck = false, bool IsReady = false, int? Batch = null,
    ProfileRecord? Profile = null);

/// <summary>What measuring processes are told and say, with code made by the compiler: looking at types takes as long as a warm-up.</summary>
[JsonSerializable(typeof(WorkerOrder))]
[JsonSerializable(typeof(MeasureAnswer))]
internal sealed partial class MeasureJson : JsonSerializerContext
{
    /// <summary>On one line, as <see cref="ResultJson.Line"/>. Other types are looked at.</summary>
    public static JsonSerializerOptions Line { get; } =
        new(ResultJson.Line) { TypeInfoResolver = JsonTypeInfoResolver.Combine(Default, ResultJson.Line.TypeInfoResolver) };
}

/// <summary>Passes on the first lines that measured code prints: code that prints in every operation repeats itself.</summary>
internal sealed class PrintedOnce(RunProgress progress)
{
    private const int Most = 20;
    private int _printed;

    public void Print(string line)
    {
        if (Interlocked.Increment(ref _printed) <= Most)
        {
            progress.WriteLine(line);
        }
    }

    /// <summary>Reports how many lines were left out.</summary>
    public void WriteOmitted()
    {
        if (_printed > Most)
        {
            progress.WriteLine($"weir: the measured code printed {Numbers.Grouped(_printed - Most)} more lines.");
        }
    }
}

/// <summary>What a measuring process is to do: some rounds of one workload with some workers.</summary>
internal sealed record WorkerOrder
{
    public required WorkloadSpec Workload { get; init; }

    /// <summary>How it is run, but for the parameters of the workload. What it calls the workload is the name of the arm in the result.</summary>
    public required WorkerRunSpec Run { get; init; }

    /// <summary>Whether there is one more round after the last, under a profiler.</summary>
    public bool IsProfiled { get; init; }

    public string Name => Run.Workload;

    public int Workers => Run.Workers;

    /// <summary>Environment variables that its process gets besides those of this one.</summary>
    public IReadOnlyDictionary<string, string> Variables() =>
        new Dictionary<string, string>(CollectorMode.Variables(Workload.Collector).Concat(IsProfiled ? ProfiledRound.Variables : []));

    /// <summary>This order with another way to run its workload.</summary>
    public WorkerOrder With(Func<WorkerRunSpec, WorkerRunSpec> change) => this with { Run = change(Run) };

    /// <summary>How it is run, as the measuring core has it.</summary>
    public WorkerRunSpec Spec() => Run with { Parameters = Workload.Parameters() };
}

/// <summary>The rounds of one order in this process, by the measuring core.</summary>
internal static class WorkerRounds
{
    /// <summary>Runs the rounds. Their figures are sent when all have ended, because formatting them would disturb the next round.</summary>
    /// <param name="order">What to do.</param>
    /// <param name="tell">Gets the progress at once; <see langword="null"/> for none.</param>
    /// <param name="turns">Where it waits for its turns, if it takes any.</param>
    /// <param name="stop">Ends it.</param>
    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(
        WorkerOrder order, Action<MeasureAnswer>? report, TurnSignal? turns, [EnumeratorCancellation] CancellationToken stop)
    {
        CollectorMode.Verify(order.Workload.Collector);
        IWorkload workload = WorkloadCatalog.Create(order.Workload);
        WorkerRunSpec spec = order.Spec();
        using ProfiledRound? profiled = order.IsProfiled ? new ProfiledRound() : null;
        WorkerRun run;
        try
        {
            WorkerRunner runner = new(spec, report is null ? null : new RoundReporter(report, spec.MostCompiling, spec.TakesTurns ? turns : null))
            {
                AfterRounds = profiled is null ? null : profiled.RunAsync,
            };
            run = await runner.RunAsync(workload, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // Before anything was measured.
            yield break;
        }

        IReadOnlyList<RoundRecord> rounds = RunRecords.Rounds(run);
        foreach (RoundRecord round in rounds)
        {
            yield return new MeasureAnswer(round, IsStuck: run.IsStuck && ReferenceEquals(round, rounds[^1]));
        }

        if (rounds.Count > 0)
        {
            yield return new MeasureAnswer(null, RunRecords.Findings(run));
        }

        // Last: it takes a while, and stopping it then does not lose the rounds.
        if (profiled is not null && !stop.IsCancellationRequested)
        {
            ProfileRecord? profile = profiled.Read([.. rounds.Select(static r => r.Rate)]);
            yield return new MeasureAnswer(Findings: profiled.Findings, Profile: profile);
        }
    }
}

/// <summary>Reports the progress of the rounds of a measuring process, and lets the process wait for its turn.</summary>
/// <param name="report">Gets each report.</param>
/// <param name="mostCompiling">The share of a round in which the compiler may be at work. Above it, the round does not count.</param>
/// <param name="turns">Where it waits before each round; <see langword="null"/> when it takes no turns.</param>
internal sealed class RoundReporter(Action<MeasureAnswer> report, double mostCompiling, TurnSignal? turns) : IRunObserver
{
    private int? _own;

    public int? Batch => turns?.Batch;

    // Once in advance, so that the first use is not in the first round.
    public void WarmingUp() => report(new MeasureAnswer(Rate: 0));

    public void WarmedUp(int? batch) => _own = batch;

    public ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken)
    {
        if (turns is null)
        {
            return new ValueTask<bool>(true);
        }

        if (round == 1)
        {
            report(new MeasureAnswer(IsReady: true, Batch: _own));
        }

        return turns.WaitAsync(cancellationToken);
    }

    public void RoundEnded(WorkerRound round, int rounds) => report(new MeasureAnswer(
        Rate: round.Rate, Room: round.Resources.Room, IsDisturbed: round.IsPartial || round.Troubles.Count > 0 || round.CompilingShare > mostCompiling));

    public void Waiting(string what) => report(new MeasureAnswer(Waiting: what));
}

/// <summary>Makes a measuring process wait for its turn.</summary>
internal sealed class TurnSignal : IDisposable
{
    /// <summary>The line that tells it to make a round.</summary>
    public const string Go = "go";

    /// <summary>The line that tells it that there are enough rounds.</summary>
    public const string Enough = "enough";

    private const string BatchWord = "batch ";

    private readonly SemaphoreSlim _words = new(0);
    private volatile bool _isOver;
    private volatile int _batch;

    /// <summary>How many operations are to go between two looks at the clock; <see langword="null"/> for as many as the process found itself.</summary>
    public int? Batch => _batch > 0 ? _batch : null;

    /// <summary>The line that tells it how many operations are to go between two looks at the clock. It comes before the first turn.</summary>
    public static string OfBatch(int batch) => string.Create(CultureInfo.InvariantCulture, $"{BatchWord}{batch}");

    /// <summary>Takes a line from the parent.</summary>
    /// <returns>Whether the line is one of these.</returns>
    public bool TryReceive(string? word)
    {
        if (word?.StartsWith(BatchWord, StringComparison.Ordinal) == true)
        {
            _batch = int.Parse(word.AsSpan(BatchWord.Length), CultureInfo.InvariantCulture);
            return true;
        }

        if (word is not (Go or Enough))
        {
            return false;
        }

        _isOver |= word == Enough;
        _words.Release();
        return true;
    }

    /// <summary>Waits for the turn.</summary>
    /// <returns>Whether to make a round: <see langword="false"/> if there are enough or the process has to stop.</returns>
    public async ValueTask<bool> WaitAsync(CancellationToken stop)
    {
        try
        {
            await _words.WaitAsync(stop);
            return !_isOver;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    public void Dispose() => _words.Dispose();
}
