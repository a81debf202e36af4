using Hangfire.Common;
using Hangfire.Server;
using Hangfire.Storage;
using Weir;
using Weir.Delivery;
using Weir.Runtimes;

/// <summary>Sends a batch of letters: one job for all of them. Hangfire stores and calls it, so it is public.</summary>
public sealed class LettersJob(IExecutionRuntime runtime, Letters letters)
{
    /// <summary>Hangfire gives the context, and a token that it cancels when the server stops, and when the job is deleted.</summary>
    public async Task SendAsync(long[] ids, PerformContext? context, CancellationToken token)
    {
        JobParameters parameters = new(context!);
        try
        {
            JobResult result = await runtime.ProcessJobAsync(
                ids,
                letters.SendAsync,
                new JobOptions
                {
                    Policies = new ParallelRunOptions
                    {
                        Resume = parameters.AsCheckpoint("Done").OfVersion("letters", context!.BackgroundJob.Id),
                        Retry = new() { MaxRetries = 3 },
                        RateLimit = new() { TokensPerSecond = 1_000, BurstCapacity = 10 },
                        Progress = new() { ReportInterval = TimeSpan.FromSeconds(1), OnProgress = parameters.Report },
                    },
                },
                token);
            Console.WriteLine($"done: {result.Succeeded} letters sent, {result.Skipped} before");
        }
        catch (OperationCanceledException e) when (token.IsCancellationRequested)
        {
            Console.WriteLine(e.Message);
            throw;
        }
    }

    /// <summary>The parameters of a job, which the dashboard shows, and which are deleted with the job.</summary>
    private sealed class JobParameters(PerformContext context) : ICheckpointStore
    {
        public void Report(ProgressSnapshot progress)
        {
            Set("Progress", $"{progress.Succeeded + progress.Skipped} of {progress.TotalItems}");
            Console.WriteLine($"progress: {progress.Succeeded} letters sent, {progress.Skipped} before");
        }

        public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken)
        {
            using IStorageConnection connection = context.Storage.GetConnection();
            return new(SerializationHelper.Deserialize<string?>(connection.GetJobParameter(context.BackgroundJob.Id, name)));
        }

        public ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken)
        {
            Set(name, position);
            return default;
        }

        private void Set(string name, string value)
        {
            using IStorageConnection connection = context.Storage.GetConnection();
            connection.SetJobParameter(context.BackgroundJob.Id, name, SerializationHelper.Serialize(value));
        }
    }
}
