using Microsoft.Extensions.Hosting;
using Weir;
using Weir.Delivery;
using Weir.Runtimes;
using Wolverine.Attributes;

/// <summary>The letters from one number to another have to be sent.</summary>
public sealed record SendLetters(long First, long Last);

/// <summary>Sends letters: one message for all of them. Wolverine finds it by its name, and calls it by code that it compiles, so it is public.</summary>
public static class LettersHandler
{
    /// <summary>The token is cancelled when the time of the message has passed, which is a minute unless somebody says otherwise.</summary>
    [MessageTimeout(3_600)]
    public static async Task Handle(
        SendLetters message, IExecutionRuntime runtime, Letters letters, IHostApplicationLifetime application, CancellationToken cancellationToken)
    {
        // When the application stops, Wolverine waits for its handlers, and tells them nothing.
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, application.ApplicationStopping);

        // The rows themselves say which letters are sent, so there is no checkpoint.
        List<long> open = await letters.OpenAsync(message.First, message.Last, cancellationToken);
        try
        {
            JobResult result = await runtime.ProcessJobAsync(
                open,
                letters.SendAsync,
                new JobOptions
                {
                    Policies = new ParallelRunOptions
                    {
                        Retry = new() { MaxRetries = 3 },
                        RateLimit = new() { TokensPerSecond = 1_000, BurstCapacity = 10 },
                        Progress = new() { ReportInterval = TimeSpan.FromSeconds(1), OnProgress = Report },
                    },
                },
                stop.Token);
            Console.WriteLine($"done: {result.Succeeded} letters sent, {message.Last - message.First + 1 - open.Count} before");
        }
        catch (OperationCanceledException e) when (stop.IsCancellationRequested)
        {
            Console.WriteLine(e.Message);
            throw;
        }
    }

    // Wolverine has no place for the progress of a handler.
    private static void Report(ProgressSnapshot progress) => Console.WriteLine($"progress: {progress.Succeeded} letters sent");
}
