namespace Weir.Audit.Load;

/// <summary>A run over queues: a queue of its own for each engine and each number of items in a message, which are dropped at the end.</summary>
internal sealed class EngineRun(EngineSettings settings, OutputSettings output, IReadOnlyList<string> arguments, AuditHost host)
{
    private readonly string _id = $"weir_load_{Guid.CreateVersion7():N}";

    public async Task<int> RunAsync()
    {
        DateTimeOffset startedAt = host.Load.Clock.GetLocalNow();
        long start = Stopwatch.GetTimestamp();
        QueueArm[] arms = [.. settings.Engines.SelectMany(
            e => settings.ItemsPerMessage.Select(items => new QueueArm(
                e.Engine, e.Address, items, FormattableString.Invariant($"{_id}_{items}"), settings, host)))];
        foreach (QueueArm arm in arms)
        {
            await arm.CheckAsync();
        }

#if DEBUG
        host.Say("this is a Debug build, so the figures mean little. Run it with -c Release.");
#endif

        TrialReport trials;
        try
        {
            TrialOptions options = host.Load.Trials with { Trials = settings.Trials };
            trials = await TrialProgress.RunAsync(
                host,
                output.Quiet,
                observer => new TrialRunner(options, observer).RunAsync([.. arms.Select(arm => arm.ToTrial(OpenAsync))], host.Stop));
        }
        finally
        {
            await DropAsync(arms);
        }

        ResultFile result = EngineResults.Of(settings, arms, trials, startedAt, arguments) with
        {
            Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds,
        };
        return ResultOutput.Write(result, output, host);

        // One queue at a time: the consumers of others would ask their servers now and then.
        async Task OpenAsync(QueueArm arm, CancellationToken cancellationToken)
        {
            foreach (QueueArm other in arms)
            {
                if (other != arm)
                {
                    await other.CloseAsync();
                }
            }

            await arm.OpenAsync(cancellationToken);
        }
    }

    private async Task DropAsync(QueueArm[] arms)
    {
        foreach (QueueArm arm in arms)
        {
            try
            {
                await arm.DropAsync();
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                // Whatever else went wrong is reported as well, and the others are dropped.
                string why = Credentials.LineOf(e);
                string queue = FormattableString.Invariant($"{_id}_{arm.ItemsPerMessage}");
                host.Say($"the queue of {arm.Name}, {queue}, could not be dropped: {why}");
            }
        }
    }
}
