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
            await using WorkEngines.OpenedQueue opened = work.Open(parsed, host, mustBeDurable: settings.Input is null);
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
        WorkEngines.OpenedQueue work,
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

    private static WorkHostOptions<string> Options(WorkEngines.OpenedQueue work, RunSettings settings, bool isOrdered, int most, WorkCliHost host)
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
