using System.Collections.Concurrent;
using System.Text.Json;
using System.Text.Json.Serialization;
using Weir.Runtimes;

namespace Weir.Delivery.TestKit;

/// <summary>
/// A rolling upgrade in which the payload gets a field: programs of both versions publish to one queue and process it at the same time. What docs/queues.md says
/// of it holds here. A class derives from it for each engine with a server.
/// </summary>
public abstract class TwoVersionsContract
{
    /// <summary>Milliseconds after which a test hangs.</summary>
    private const int Limit = 120_000;

    private const int Default = 5;

    /// <summary>Whether an item that failed keeps its bytes until its next attempt, so that a program which does not know a field does not lose it.</summary>
    protected abstract bool KeepsBytesOfAnAttempt { get; }

    /// <summary>Creates the test's queue.</summary>
    protected abstract Task SetupAsync();

    /// <summary>The test's queue, as one program sees it.</summary>
    protected abstract IWorkQueue<T> Open<T>(IWorkSerializer<T> serializer);

    [Fact(Timeout = Limit)]
    public async Task BothVersions_AtOnce_ProcessAllOfBothOnce()
    {
        const int Each = 300;
        await SetupAsync();
        await using IWorkQueue<Mail1> first = Open(WorkSerializer.Json<Mail1>());
        await using IWorkQueue<Mail2> second = Open(WorkSerializer.Json<Mail2>());
        ConcurrentBag<string> byFirst = [];
        ConcurrentBag<(string Address, int Priority)> bySecond = [];
        await WithHostAsync(first, item => byFirst.Add(item.Value.Address), () => WithHostAsync(
            second,
            item => bySecond.Add((item.Value.Address, item.Value.Priority)),
            async () =>
            {
                await Task.WhenAll(
                    PublishAsync(first, Enumerable.Range(0, Each).Select(static i => new Mail1($"old {i}"))),
                    PublishAsync(second, Enumerable.Range(0, Each).Select(static i => new Mail2($"new {i}", 9))));
                await Guard.UntilAsync(() => byFirst.Count + bySecond.Count >= 2 * Each, "all mails");
            }));
        Assert.Equal(
            Enumerable.Range(0, Each).SelectMany(static i => new[] { $"old {i}", $"new {i}" }).Order(StringComparer.Ordinal),
            byFirst.Concat(bySecond.Select(static m => m.Address)).Order(StringComparer.Ordinal));
        Assert.All(bySecond, static m => Assert.Equal(m.Address.StartsWith("new", StringComparison.Ordinal) ? 9 : Default, m.Priority));
        Assert.Empty(await LettersAsync(first));
    }

    [Fact(Timeout = Limit)]
    public async Task EachVersion_OfWhatTheOtherWrote_ReadsWhatItKnows()
    {
        await SetupAsync();
        await using IWorkQueue<Mail1> first = Open(WorkSerializer.Json<Mail1>());
        await using IWorkQueue<Mail2> second = Open(WorkSerializer.Json<Mail2>());
        await PublishAsync(second, [new Mail2("new", 9)]);
        Assert.Equal("new", (await OneAsync(first)).Address);
        await PublishAsync(first, [new Mail1("old")]);
        Assert.Equal(new Mail2("old"), await OneAsync(second));
        await PublishAsync(first, [new Mail1("old")]);
        await using IWorkQueue<BareMail2> bare = Open(WorkSerializer.Json<BareMail2>());
        Assert.Equal(new BareMail2("old", 0), await OneAsync(bare));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task NewItem_ThatFailsInAnOldProgram_HasItsFieldAtItsNextAttemptIfTheOldOneKeepsIt(bool keeps)
    {
        await SetupAsync();
        await using IWorkQueue<Mail2> second = Open(WorkSerializer.Json<Mail2>());
        await PublishAsync(second, [new Mail2("new", 9)]);
        await FailInOldProgramAsync(keeps, attempts: 12);
        Assert.Equal(new Mail2("new", keeps || KeepsBytesOfAnAttempt ? 9 : Default), await OneAsync(second));
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task NewItem_ThatBecomesADeadLetterOfAnOldProgram_HasItsFieldIfTheOldOneKeepsIt(bool keeps)
    {
        await SetupAsync();
        await using IWorkQueue<Mail2> second = Open(WorkSerializer.Json<Mail2>());
        await PublishAsync(second, [new Mail2("new", 9)]);
        await FailInOldProgramAsync(keeps, attempts: 1);
        DeadLetter letter = Assert.Single(await LettersAsync(second));
        Assert.Equal(DeadLetterReason.Failed, letter.Reason);
        Assert.Equal(1, await second.DeadLetters.ReplayAsync([letter.Id]));
        Assert.Equal(new Mail2("new", keeps ? 9 : Default), await OneAsync(second));
    }

    [Fact(Timeout = Limit)]
    public async Task OldItem_WithoutAFieldThatTheNewVersionRequires_IsADeadLetterAsItWas()
    {
        await SetupAsync();
        await using IWorkQueue<Mail1> first = Open(WorkSerializer.Json<Mail1>());
        await using IWorkQueue<StrictMail2> strict = Open(WorkSerializer.Json<StrictMail2>());
        await PublishAsync(first, [new Mail1("old")]);
        await WithHostAsync(
            strict,
            static _ => Assert.Fail("It was read."),
            () => Guard.UntilAsync(async () => (await LettersAsync(first)).Count == 1, "the dead letter"));
        DeadLetter letter = Assert.Single(await LettersAsync(first));
        Assert.Equal(DeadLetterReason.Undecodable, letter.Reason);

        // Nothing is lost: a version that can read it gets it again.
        Assert.Equal(1, await first.DeadLetters.ReplayAsync([letter.Id]));
        Assert.Equal(new Mail1("old"), await OneAsync(first));
    }

    private async Task FailInOldProgramAsync(bool keeps, int attempts)
    {
        if (keeps)
        {
            await FailAsync(WorkSerializer.Json<KeepingMail1>(), attempts);
        }
        else
        {
            await FailAsync(WorkSerializer.Json<Mail1>(), attempts);
        }
    }

    private async Task FailAsync<T>(IWorkSerializer<T> serializer, int attempts)
    {
        await using IWorkQueue<T> queue = Open(serializer);
        TaskCompletionSource failed = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await WithHostAsync(
            queue,
            static _ => throw new TestException("old"),
            async () =>
            {
                await failed.Task.WithinAsync("the failed attempt");

                // Stored for its next attempt, or as a letter, before the host has acknowledged it.
                await Guard.UntilAsync(async () => attempts > 1 || (await LettersAsync(queue)).Count == 1, "what becomes of it");
            },
            attempts,
            () => failed.TrySetResult());
    }

    /// <summary>Runs a host over a queue meanwhile.</summary>
    private static async Task WithHostAsync<T>(
        IWorkQueue<T> queue, Action<WorkItem<T>> process, Func<Task> meanwhile, int attempts = 12, Action? onFailed = null)
    {
        using CancellationTokenSource stop = new();
        await using IWorkSource<T> source = await queue.OpenSourceAsync(CancellationToken.None);
        await using ConcurrentRuntime runtime = new(4);
        WorkHost<T> host = new(
            source,
            runtime,
            (item, _) =>
            {
                process(item);
                return default;
            },
            new WorkHostOptions<T>
            {
                DeadLetters = queue.DeadLetters,
                MaxAttempts = attempts,
                RedeliveryDelays = [TimeSpan.FromMilliseconds(1)],
                OnFailedAttempt = attempt =>
                {
                    // What it gets again before it has stopped fails again.
                    if (attempts > 1)
                    {
                        stop.Cancel();
                    }

                    onFailed?.Invoke();
                },
            });
        Task running = host.RunAsync(stop.Token);
        await meanwhile();
        await stop.CancelAsync();
        await running.WithinAsync("the host");
    }

    private static async Task PublishAsync<T>(IWorkQueue<T> queue, IEnumerable<T> values)
    {
        await using IWorkSink<T> sink = await queue.OpenSinkAsync(CancellationToken.None);
        await sink.WriteAsync(WorkItem.CreateMany([.. values]), null, CancellationToken.None).WithinAsync("publishing");
    }

    private static async Task<T> OneAsync<T>(IWorkQueue<T> queue)
    {
        await using IWorkSource<T> source = await queue.OpenSourceAsync(CancellationToken.None);
        WorkBatch<T> batch = (await source.ReadAsync(CancellationToken.None).WithinAsync("the next batch"))!;
        await source.AcknowledgeAsync([batch], CancellationToken.None);
        return Assert.Single(batch.Items).Value;
    }

    private static async Task<List<DeadLetter>> LettersAsync<T>(IWorkQueue<T> queue)
    {
        List<DeadLetter> letters = [];
        await foreach (DeadLetter letter in queue.DeadLetters.ListAsync())
        {
            letters.Add(letter);
        }

        return letters;
    }

    /// <summary>The payload of the first version.</summary>
    public sealed record Mail1(string Address);

    /// <summary>The same, in a program that keeps what it does not know.</summary>
    public sealed record KeepingMail1(string Address)
    {
        [JsonExtensionData]
        public IDictionary<string, JsonElement>? Others { get; init; }
    }

    /// <summary>The second version: a field more, with what it is where it is not there.</summary>
    public sealed record Mail2(string Address, int Priority = Default);

    /// <summary>The same without a default: a field that is not there is what its type begins with.</summary>
    public sealed record BareMail2(string Address, int Priority);

    /// <summary>What the second version must not be.</summary>
    public sealed record StrictMail2(string Address)
    {
        public required int Priority { get; init; }
    }
}
