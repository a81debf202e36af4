using MassTransit;
using Weir;
using Weir.Delivery;
using Weir.Runtimes;

namespace MassTransitJob; // It is part of the name of a message, and so must be there.

/// <summary>A page of events: letters that were written, and have to be sent.</summary>
public sealed record LettersWritten(IReadOnlyList<LetterWritten> Events);

/// <summary>A letter was written.</summary>
public sealed record LetterWritten(long Id);

/// <summary>Sends the letters of a page: one message for all of them. MassTransit makes it for each message.</summary>
internal sealed class LettersConsumer(IExecutionRuntime runtime, Letters letters, ICheckpointStore store) : IConsumer<LettersWritten>
{
    /// <summary>The token of the context is cancelled when the bus stops.</summary>
    public async Task Consume(ConsumeContext<LettersWritten> context)
    {
        string page = $"letters-{context.MessageId}";
        try
        {
            JobResult result = await runtime.ProcessJobAsync(
                context.Message.Events,
                (written, token) => letters.SendAsync(written.Id, token),
                new JobOptions
                {
                    Policies = new ParallelRunOptions
                    {
                        Resume = store.AsCheckpoint(page).OfVersion("letters", page),
                        Retry = new() { MaxRetries = 3 },
                        RateLimit = new() { TokensPerSecond = 1_000, BurstCapacity = 10 },
                        Progress = new() { ReportInterval = TimeSpan.FromSeconds(1), OnProgress = Report },
                    },
                },
                context.CancellationToken);
            Console.WriteLine($"done: {result.Succeeded} letters sent, {result.Skipped} before");
        }
        catch (OperationCanceledException e) when (context.CancellationToken.IsCancellationRequested)
        {
            Console.WriteLine(e.Message);
            throw;
        }
    }

    // MassTransit has no place for the progress of a consumer.
    private static void Report(ProgressSnapshot progress) => Console.WriteLine($"progress: {progress.Succeeded} letters sent, {progress.Skipped} before");
}
