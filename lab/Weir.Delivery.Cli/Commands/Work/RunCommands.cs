namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The <c>run</c> command: processes the items of a queue until Ctrl-C, or until nothing comes any more.</summary>
internal static class RunCommands
{
    public static Command Create(WorkCliHost host)
    {
        WorkOptionSet work = new();
        RunOptionSet run = new();
        LineItems lines = new();
        Command command = new("run", "Runs a command for each item, or prints it.");
        work.AddTo(command);
        run.AddTo(command);
        lines.AddTo(command);
        command.SetAction(async (parsed, token) =>
        {
            RunSettings settings = run.Read(parsed, host);
            await using OpenedQueue opened = work.Open(parsed, host, mustBeDurable: settings.Input is null);
            Func<CancellationToken, Task>? publish = settings.Input is null ? null : async stop =>
            {
                await using (IWorkSink<string> sink = await opened.Queue.OpenSinkAsync(stop))
                {
                    await lines.PublishAsync(parsed, settings.Input, host, (items, end) => sink.WriteAsync(items, null, end), stop);
                }

                opened.Complete?.Invoke();
            };
            return await RunAsync(opened, settings, work.IsOrdered(parsed), work.IsJson(parsed), publish, host, token);
        });
        return command;
    }

    private static async Task<int> RunAsync(
        OpenedQueue work,
        RunSettings settings,
        bool isOrdered,
        bool isJson,
        Func<CancellationToken, Task>? publish,
        WorkCliHost host,
        CancellationToken cancellationToken)
    {
        IWorkQueue<string> queue = work.Queue;
        TimeProvider clock = host.Clock;
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        OutputException? output = null;
        IWorkSource<string> opened = await queue.OpenSourceAsync(cancellationToken);
        await using IWorkSource<string> source = settings.Idle is { } idle ? new IdleSource<string>(opened, idle, clock) : opened;
        CommandBatches? batches = settings is { Command: { } command, Batch: > 1 }
            ? new CommandBatches(command, settings.Batch, settings.Concurrency, settings.Timeout, clock)
            : null;
        int most = checked(settings.Concurrency * settings.Batch);
        await using ConcurrentRuntime runtime = new(most, new RuntimeOptions { TotalConcurrency = most, GracePeriod = TimeSpan.Zero, TimeProvider = clock });
        WorkHost<string> workers = new(
            source,
            runtime,
            batches is not null ? batches.ProcessAsync : (item, token) => ProcessAsync(settings.Command, item, isJson, host, token),
            Options(work, settings, isOrdered, most, host) with
            {
                OnFailedAttempt = attempt =>
                {
                    // Nothing else will go there, and what it has not taken has not been processed.
                    if (attempt.Error is OutputException e)
                    {
                        output = e;
                        stop.Cancel();
                    }
                },
            });
        long started = clock.GetTimestamp();
        try
        {
            await RunAsync(workers, publish, settings.IsQuiet, host, stop);
        }
        finally
        {
            if (batches is not null)
            {
                await batches.DisposeAsync();
            }
        }

        if (output is not null)
        {
            throw new OutputException(output.Reason);
        }

        WriteEnd(workers.Statistics, queue.Name, clock.GetElapsedTime(started), isJson, host);
        return ExitCode.Success;
    }

    private static async Task RunAsync(
        WorkHost<string> workers, Func<CancellationToken, Task>? publish, bool isQuiet, WorkCliHost host, CancellationTokenSource stop)
    {
        using ITimer? progress = isQuiet ? null : host.Clock.CreateTimer(_ => WriteProgress(workers.Statistics, host), null, host.Progress, host.Progress);
        Task running = workers.RunAsync(stop.Token);
        Task publishing = publish is null ? Task.CompletedTask : publish(stop.Token);
        if (await Task.WhenAny(running, publishing) == running || !publishing.IsCompletedSuccessfully)
        {
            // Whichever fails ends the other. What was published is finished.
            await stop.CancelAsync();
        }

        await running;
        try
        {
            await publishing;
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // The rest of the lines was not published.
        }
    }

    private static async ValueTask ProcessAsync(ItemCommand? command, WorkItem<string> item, bool isJson, WorkCliHost host, CancellationToken cancellationToken)
    {
        if (command is not null)
        {
            await command.RunAsync([item], cancellationToken);
            return;
        }

        WorkOutput.Write(host, isJson, item.Value, ("id", item.Id.ToString()), ("key", item.Key), ("attempt", item.Attempt), ("value", item.Value));
    }

    private static WorkHostOptions<string> Options(OpenedQueue work, RunSettings settings, bool isOrdered, int most, WorkCliHost host)
    {
        WorkHostOptions<string> options = new()
        {
            DeadLetters = work.Queue.DeadLetters,
            Serializer = WorkSerializer.Text,
            PartitionBy = isOrdered ? static item => item.Key : null,
            PerItemTimeout = settings.Batch > 1 ? null : settings.Timeout,
            MaxItemsPerCall = settings.Command is null ? 256 : 1,
            MaxConcurrentCalls = settings.Command is null ? null : most,
            MaxItemsInFlight = Math.Max(4096, most),
            GracePeriod = settings.Grace,
            TimeProvider = host.Clock,
            OnFault = fault => host.Say($"{Credentials.LineOf(fault)} (trying again)"),
        };

        // A queue in memory ends with its last line, and somebody waits for that. One on a server outlasts an outage.
        options = options with
        {
            MaxAttempts = settings.Attempts ?? (work.IsDurable ? options.MaxAttempts : 5),
            RedeliveryDelays = settings.Delays
                ?? (work.IsDurable ? options.RedeliveryDelays : [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(60)]),
        };

        // With an order nobody waits elsewhere, so all attempts come at once, with the same delays.
        return !isOrdered || options.MaxAttempts == 1 ? options : options with
        {
            Retry = new Weir.Resilience.RetryOptions
            {
                MaxRetries = options.MaxAttempts - 1,
                BaseDelay = options.RedeliveryDelays[0],
                MaxDelay = options.RedeliveryDelays.Max(),
                IsTransient = static _ => true,
            },
        };
    }

    private static void WriteProgress(WorkHostStatistics now, WorkCliHost host) => host.Error.WriteLine(
        $"{Numbers.Grouped(now.Succeeded)} processed, {Numbers.Grouped(now.InFlight)} in flight, {Numbers.Grouped(now.Redelivered)} to be repeated, "
        + $"{Numbers.Grouped(now.DeadLettered)} dead letters");

    private static void WriteEnd(WorkHostStatistics end, string queue, TimeSpan elapsed, bool isJson, WorkCliHost host)
    {
        if (isJson)
        {
            WorkOutput.WriteLine(host, WorkOutput.Json(
                ("queue", queue),
                ("processed", end.Succeeded),
                ("failedAttempts", end.Failed),
                ("redelivered", end.Redelivered),
                ("deadLettered", end.DeadLettered),
                ("returned", end.Returned),
                ("seconds", Math.Round(elapsed.TotalSeconds, 3))));
            return;
        }

        host.Error.WriteLine(
            $"{Numbers.Grouped(end.Succeeded)} processed, {Numbers.Grouped(end.Redelivered)} repeated, {Numbers.Grouped(end.DeadLettered)} dead letters, "
            + string.Create(CultureInfo.InvariantCulture, $"{Numbers.Grouped(end.Returned)} returned; {elapsed.TotalSeconds:0.0} s"));
    }
}

/// <summary>The options of <c>work run</c> besides those that all share.</summary>
internal sealed class RunOptionSet
{
    private const int MostConcurrency = 10_000;
    private static readonly TimeSpan Longest = TimeSpan.FromDays(30);

    private readonly TextOption _exec = TextOption.Of("--exec", null, "'PROG ARGS'",
        "A command that runs for each item and gets its value as a line of input. Exit code 0 acknowledges the item. Default: the value is printed");
    private readonly Option<bool> _shell = new("--shell") { Description = "Run the command by the shell" };
    private readonly TextOption _batch = TextOption.Of("--batch", null, "N", "Run the command for up to N items at once, one per line. Default 1");
    private readonly TextOption _concurrency = TextOption.Of("--max-concurrency", null, "N", "Commands at once. Default: the number of processors");
    private readonly TextOption _attempts = TextOption.Of("--attempts", null, "N", "Attempts before an item becomes a dead letter. Default 12; 5 with memory:");
    private readonly TextOption _delay =
        TextOption.Of(
            "--delay", null, "TIME,TIME,...", "How long a failed item waits for each next attempt. Default 1s,10s,1min,10min; 1s,10s,60s with memory:");
    private readonly TextOption _timeout = TextOption.Of("--timeout", null, "TIME", "Time limit of an item. Default: none");
    private readonly TextOption _grace = TextOption.Of("--grace", null, "TIME", "How long running items may take after Ctrl-C. Default 30s");
    private readonly TextOption _idle = TextOption.Of("--idle", null, "TIME", "End when nothing has come for this time. Default: run until Ctrl-C");
    private readonly TextOption _input = TextOption.Of("--input", null, "FILE", "First publish the lines of a file; - for the input");
    private readonly Option<bool> _quiet = new("--quiet") { Description = "No progress" };

    public void AddTo(Command command) => command.AddAll(_exec, _shell, _batch, _concurrency, _attempts, _delay, _timeout, _grace, _idle, _input, _quiet);

    /// <summary>Reads and checks all of them.</summary>
    public RunSettings Read(ParseResult parsed, WorkCliHost host)
    {
        OptionValue? exec = Find(_exec);
        int batch = Find(_batch)?.WholeNumber(1, 1000) ?? 1;
        if (exec is null && (batch > 1 || parsed.GetValue(_shell)))
        {
            throw new BadInputException("--batch and --shell need --exec, whose command they run.");
        }

        return new RunSettings
        {
            Command = exec is null ? null : ItemCommand.Of(exec, parsed.GetValue(_shell), host),
            Batch = batch,
            Concurrency = Find(_concurrency)?.WholeNumber(1, MostConcurrency) ?? Environment.ProcessorCount,
            Attempts = Find(_attempts)?.WholeNumber(1, 1000),
            Delays = Find(_delay) is { } delays
                ? [.. delays.Text.Split(',').Select(text => new OptionValue(delays.Source, text.Trim()).Time(TimeSpan.Zero, Longest, "1s,10s"))]
                : null,
            Timeout = Find(_timeout)?.Time(TimeSpan.FromMilliseconds(1), Longest, "30s"),
            Grace = Find(_grace)?.Time(TimeSpan.Zero, Longest, "30s") ?? TimeSpan.FromSeconds(30),
            Idle = Find(_idle)?.Time(TimeSpan.FromMilliseconds(1), Longest, "5s"),
            Input = Find(_input),
            IsQuiet = parsed.GetValue(_quiet),
        };

        OptionValue? Find(TextOption option) => option.Find(parsed);
    }
}

/// <summary>The checked options of <c>work run</c>.</summary>
internal sealed record RunSettings
{
    /// <summary>What to run for items; <see langword="null"/> to print them.</summary>
    public required ItemCommand? Command { get; init; }

    public required int Batch { get; init; }

    public required int Concurrency { get; init; }

    /// <summary>How often an item is tried; <see langword="null"/> if nobody says.</summary>
    public required int? Attempts { get; init; }

    /// <summary>How long it waits; <see langword="null"/> if nobody says.</summary>
    public required IReadOnlyList<TimeSpan>? Delays { get; init; }

    public required TimeSpan? Timeout { get; init; }

    public required TimeSpan Grace { get; init; }

    /// <summary>When nothing has come for this time, the run ends; <see langword="null"/> for never.</summary>
    public required TimeSpan? Idle { get; init; }

    /// <summary>What to publish first.</summary>
    public required OptionValue? Input { get; init; }

    public required bool IsQuiet { get; init; }
}
