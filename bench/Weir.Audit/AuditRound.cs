namespace Weir.Audit;

/// <summary>A round: changes are published, faults happen meanwhile, and when nothing is left to do, what came of it is checked.</summary>
internal sealed class AuditRound(
    AuditScenario scenario, AuditScene scene, IAuditEngine engine, ChangeStream? stream, AuditDatabase database, AuditSettings settings)
{
    private static readonly TimeSpan Poll = TimeSpan.FromMilliseconds(20);

    // What waits was read before what is there, so this often in a row no item is on its way between the two.
    private const int Settled = 5;

    // The queue in PostgreSQL promises a second and 50 ms; what acknowledges has to be done in this time too, on a busy machine.
    private const double MostRepeatedSeconds = 4;

    // The same where nobody says what workers hold: they may be at it without an effect for a while.
    private const int SettledUnseen = 50;

    private readonly AuditTally _tally = new(engine);
    private readonly List<DateTime> _kills = [];
    private long _before;
    private long _goal;
    private bool _isLast;
    private int _settled;

    /// <summary>Runs a round.</summary>
    /// <param name="plan">Its faults.</param>
    /// <param name="goal">The number of its last change.</param>
    /// <param name="isLast">Whether no other follows, so that all is read once more that was counted before.</param>
    /// <param name="stop">Ends it; its result is of no use then.</param>
    /// <returns>
    /// All that was counted since the scenario began, what else is wrong, so that no other round can follow, and the longest recovery from a kill of a worker.
    /// </returns>
    public async Task<(AuditCounts Counts, IReadOnlyList<string> Wrong, AuditRecovery? Recovery)> RunAsync(
        IReadOnlyList<PlannedFault> plan, long goal, bool isLast, CancellationToken stop)
    {
        (_before, _goal, _isLast, _settled) = (_goal, goal, isLast, engine.CountsWhatIsHeld ? Settled : SettledUnseen);
        _kills.Clear();
        scene.Publish(goal);
        foreach (PlannedFault fault in plan)
        {
            long moment = _before + ((goal - _before) * fault.Percent / 100);
            if (!await UntilAsync(async () => await PublishedAsync(stop) >= moment, stop))
            {
                return await EndAsync([TooLong("the publisher has not published")], stop);
            }

            if (scene.IsKillOfWorker(fault))
            {
                if (scenario.KillsAtWork && !await UntilAsync(async () => await MissingAsync(stop) <= (goal - _before) / 2, stop))
                {
                    return await EndAsync([TooLong("half of the round has not been done")], stop);
                }

                _kills.Add(await database.RetryAsync(c => AuditTables.ScalarAsync<DateTime>(c, "SELECT clock_timestamp()", stop), stop));
            }

            await scene.ApplyAsync(fault, stop);
        }

        if (!await UntilAsync(async () => await PublishedAsync(stop) >= goal, stop))
        {
            return await EndAsync([TooLong("the publisher has not published")], stop);
        }

        if (!await UntilReadAsync(stop))
        {
            return await EndAsync([TooLong("the slot still holds back the write-ahead log")], stop);
        }

        if (!await UntilDoneAsync(stop))
        {
            return await EndAsync([TooLong("the queue is still not empty")], stop);
        }

        // Workers may still be at it: when they have stopped, what is missing and does not wait is lost.
        bool isLost = false;
        while (!isLost && await MissingAsync(stop) > 0)
        {
            isLost = await IsLostAsync(stop);

            // They were only slow. Each stop gives back what they hold, so they get twice the time before the next one.
            _settled *= 2;
            if (!await UntilDoneAsync(stop))
            {
                return await EndAsync([TooLong("the queue is still not empty")], stop);
            }
        }

        IReadOnlyList<string> left = [];
        async Task<bool> IsCleanAsync()
        {
            left = await database.RetryAsync(_ => engine.FindLeftoversAsync(settings.Plan.Workers, stop), stop);
            return left.Count == 0;
        }

        await UntilAsync(IsCleanAsync, stop);
        return await EndAsync(left, stop);
    }

    private async Task<(AuditCounts Counts, IReadOnlyList<string> Wrong, AuditRecovery? Recovery)> EndAsync(IReadOnlyList<string> wrong, CancellationToken stop)
    {
        AuditCounts counts = await database.RetryAsync(c => _tally.CountAsync(c, reread: _isLast, stop), stop) with { Asked = _goal };
        AuditRecovery? recovery = null;
        foreach (DateTime moment in _kills)
        {
            AuditRecovery? its = await database.RetryAsync(c => AuditChecks.FindRecoveryAsync(c, moment, _before, stop), stop);
            recovery = its?.Seconds > (recovery?.Seconds ?? 0) ? its : recovery;
        }

        // Half of a round is done before the kill, so it is much more than is done in the time that what is done may wait.
        if (scenario.KillsAtWork && engine.CountsWhatIsHeld && recovery?.RepeatedSeconds > MostRepeatedSeconds)
        {
            wrong = [.. wrong, Invariant($"{recovery.Repeated:N0} delivered again, done up to {recovery.RepeatedSeconds:0.0} s before the kill")];
        }

        string? failure = scene.FindFailure();
        return (counts, failure is null ? wrong : [.. wrong, failure], recovery);
    }

    // The slot moves on only behind what is in the queue, and what is written meanwhile elsewhere must not hold it back.
    private async Task<bool> UntilReadAsync(CancellationToken stop)
    {
        if (stream is null)
        {
            return true;
        }

        string end = await ScalarAsync("SELECT pg_current_wal_lsn()::text");
        return await UntilAsync(
            async () => await ScalarAsync(
                $"SELECT (confirmed_flush_lsn >= '{end}')::text FROM pg_replication_slots WHERE slot_name = '{stream.Slot}'") == "true",
            stop);

        Task<string> ScalarAsync(string query) => database.RetryAsync(c => AuditTables.ScalarAsync<string>(c, query, stop), stop);
    }

    private async Task<bool> IsLostAsync(CancellationToken stop)
    {
        await scene.StopWorkersAsync();

        if (!engine.CountsWhatIsHeld)
        {
            // The server learns of their end a moment later, and what they held waits again.
            await UntilAsync(async () => (await database.RetryAsync(_ => engine.FindLeftoversAsync(workers: 0, stop), stop)).Count == 0, stop);
        }

        bool isLost = true;
        for (int times = 0; times < Settled && isLost; times++)
        {
            await Task.Delay(Poll, stop);
            isLost = await database.RetryAsync(_ => engine.CountWaitingAsync(stop), stop) == 0;
        }

        scene.StartWorkers();
        return isLost;
    }

    private async Task<bool> UntilDoneAsync(CancellationToken stop)
    {
        int times = 0;
        long before = -1;
        return await UntilAsync(
            async () =>
            {
                long waiting = await database.RetryAsync(_ => engine.CountWaitingAsync(stop), stop);
                long lost = waiting > 0 ? 1 : await MissingAsync(stop);
                times = waiting > 0 || lost != before ? 0 : times + 1;
                before = lost;
                return waiting == 0 && (lost == 0 || times >= _settled);
            },
            stop);
    }

    private Task<long> MissingAsync(CancellationToken stop) => database.RetryAsync(c => AuditChecks.CountMissingAsync(c, _before, stop), stop);

    // Its numbers have no gaps: whether that is so, the judge says.
    private Task<long> PublishedAsync(CancellationToken stop) =>
        database.RetryAsync(c => AuditTables.ScalarAsync<long>(c, "SELECT coalesce(max(number), 0) FROM changes", stop), stop);

    // Whoever has ended by itself is named besides.
    private string TooLong(string what) => scene.FindFailure() is null ? $"{what} after {Numbers.Time(settings.Patience)}, the --patience" : what;

    private async Task<bool> UntilAsync(Func<Task<bool>> isTrue, CancellationToken stop)
    {
        long start = Stopwatch.GetTimestamp();
        while (!await isTrue())
        {
            if (Stopwatch.GetElapsedTime(start) > settings.Patience || scene.FindFailure() is not null)
            {
                return false;
            }

            await Task.Delay(Poll, stop);
        }

        return true;
    }
}
