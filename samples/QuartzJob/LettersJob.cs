using Quartz;
using Weir;
using Weir.Delivery;
using Weir.Runtimes;

/// <summary>Sends the letters that a file names, a number in each line: one firing for all of them. Quartz makes it for each firing.</summary>
internal sealed class LettersJob(IExecutionRuntime runtime, Letters letters) : IJob
{
    /// <summary>Quartz gives the context, and a token that it cancels when somebody interrupts the job, and when the scheduler is shut down.</summary>
    public async ValueTask Execute(IJobExecutionContext context, CancellationToken cancellationToken)
    {
        string file = context.MergedJobDataMap.GetString("file")!;
        try
        {
            JobResult result = await runtime.ProcessJobAsync(
                File.ReadLines(file),
                (line, token) => letters.SendAsync(long.Parse(line), token),
                new JobOptions
                {
                    Policies = new ParallelRunOptions
                    {
                        Resume = Checkpoint.File(file + ".done").OfFile(file),
                        Retry = new() { MaxRetries = 3 },
                        RateLimit = new() { TokensPerSecond = 1_000, BurstCapacity = 10 },
                        Progress = new() { ReportInterval = TimeSpan.FromSeconds(1), OnProgress = Report, Total = File.ReadLines(file).LongCount() },
                    },
                },
                cancellationToken);
            Console.WriteLine($"done: {result.Succeeded} letters sent, {result.Skipped} before");
        }
        catch (OperationCanceledException e) when (cancellationToken.IsCancellationRequested)
        {
            Console.WriteLine(e.Message);
            throw;
        }

        // Quartz stores it each second, and its dashboard shows it.
        void Report(ProgressSnapshot progress)
        {
            context.ReportProgress((int)progress.PercentComplete.GetValueOrDefault(), $"{progress.Succeeded} letters sent, {progress.Skipped} before");
            Console.WriteLine($"progress: {progress.Succeeded} letters sent, {progress.Skipped} before");
        }
    }
}
