using System.Collections.Concurrent;
using System.Threading.Channels;
using Weir.Checkpoints;
using Weir.Runtimes;
using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>Does a run go on where another stopped, refuse what it cannot go on with, and tell what it left out?</summary>
public sealed class CheckpointTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("weir-checkpoint-").FullName;

    private string Done => Path.Combine(_folder, "import.done");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact(Timeout = 60_000)]
    public async Task FailedItems_RunAgain_AndNoOthers()
    {
        ParallelRunOptions options = new() { ErrorMode = ErrorMode.BestEffort, Resume = Checkpoint.File(Done) };
        List<int> first = await Items(100).SelectParallelAsync((i, _) => i % 10 == 3 ? throw new TestException() : new ValueTask<int>(i), options);
        List<int> second = await Items(100).SelectParallelAsync((i, _) => new ValueTask<int>(i), options);
        Assert.Equal(90, first.Count);
        Assert.Equal(Items(100).Where(static i => i % 10 == 3), second);
        Assert.Equal(Items(100), first.Concat(second).Order());
    }

    [Fact(Timeout = 60_000)]
    public async Task OutcomesAndStreams_HoldOnlyWhatIsLeft()
    {
        Assert.Equal(7, await StopAfterAsync(7, Checkpoint.File(Done)));
        ItemOutcome<int, int>[] outcomes =
            await Items(20).SelectParallelOutcomesAsync((i, _) => i == 9 ? throw new TestException() : new ValueTask<int>(i), Options(Checkpoint.File(Done)));
        Assert.Equal(Items(20).Skip(7), outcomes.Select(static o => o.Item));
        List<int> streamed = [];
        await foreach (int item in Items(20).SelectParallelStreamAsync((i, _) => new ValueTask<int>(i), Options(Checkpoint.File(Done))))
        {
            streamed.Add(item);
        }

        Assert.Equal([9], streamed);
    }

    [Fact(Timeout = 60_000)]
    public async Task WhatAConsumerHasNotTaken_IsNotDone()
    {
        await foreach (int item in Items(20).SelectParallelStreamAsync((i, _) => new ValueTask<int>(i), Options(Checkpoint.File(Done)) with { OrderedOutput = true }))
        {
            if (item == 4)
            {
                // It leaves while it works on the fifth.
                break;
            }
        }

        Assert.Equal(Items(20).Skip(4), await RestAsync(Checkpoint.File(Done), 20));
    }

    [Fact(Timeout = 60_000)]
    public async Task AWholeRun_IsFollowedByANewOne_UnlessTheSourceIsKnownToBeTheSame()
    {
        Checkpoint unknown = Checkpoint.File(Done);
        Assert.Equal(5, (await RestAsync(unknown, 5)).Count);
        Assert.Equal(5, (await RestAsync(unknown, 5)).Count);
        Checkpoint monday = Checkpoint.File(Done).OfVersion("orders", "monday");
        Assert.Equal(5, (await RestAsync(monday, 5)).Count);
        Assert.Empty(await RestAsync(monday, 5));
        Assert.Equal(6, (await RestAsync(monday.OfVersion("orders", "tuesday"), 6)).Count);
    }

    [Fact(Timeout = 60_000)]
    public async Task AChangedSource_IsRefused()
    {
        Checkpoint checkpoint = Checkpoint.File(Done);
        await StopAfterAsync(3, checkpoint);
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(() => RestAsync(checkpoint, 21));
        Assert.StartsWith("The source has changed since the checkpoint", e.Message, StringComparison.Ordinal);
        Assert.Contains("it was '20 items' and is '21 items'. Delete the checkpoint to begin anew.", e.Message, StringComparison.Ordinal);

        // The refused run has let go of the checkpoint, and left it as it was.
        Assert.Equal(17, (await RestAsync(checkpoint, 20)).Count);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(0, 'x')]
    [InlineData(1_000_000, 'x')]
    [InlineData(-1, 'x')]
    public async Task AChangedFile_IsRefused(int at, char with)
    {
        string file = Path.Combine(_folder, "lines.txt");
        File.WriteAllLines(file, Enumerable.Range(0, 200_000).Select(static i => $"line {i:000000}"));
        Checkpoint checkpoint = Checkpoint.File(Done).OfFile(file);
        int seen = 0;
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, Resume = checkpoint };
        await Assert.ThrowsAsync<TestException>(() =>
            File.ReadLines(file).ForEachParallelAsync((_, _) => seen++ == 1_000 ? throw new TestException() : default(ValueTask), options));
        string text = await File.ReadAllTextAsync(file);
        await File.WriteAllTextAsync(file, at < 0 ? text + with : text[..at] + with + text[(at + 1)..]);
        await Assert.ThrowsAsync<InvalidOperationException>(() => File.ReadLines(file).ForEachParallelAsync(static (_, _) => default(ValueTask), options));
        await File.WriteAllTextAsync(file, text);
        seen = 1_001;
        await File.ReadLines(file).ForEachParallelAsync(
            (line, _) =>
            {
                seen += line.Length > 0 ? 1 : 0;
                return default(ValueTask);
            },
            options);
        Assert.Equal(200_001, seen);
    }

    [Fact(Timeout = 60_000)]
    public async Task ASourceThatEndsBeforeWhatWasDone_IsRefused()
    {
        Checkpoint checkpoint = Checkpoint.File(Done);
        ParallelRunOptions options = Options(checkpoint);
        await Items(20).Where(static _ => true).ForEachParallelAsync((i, _) => i == 2 ? throw new TestException() : default(ValueTask), options);
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(
            () => Items(10).Where(static _ => true).ForEachParallelAsync(static (_, _) => default(ValueTask), options));
        Assert.Contains("it ends after 10 items, and item 19 was done", e.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task TwoRunsAtOnce_AreRefused()
    {
        using Gate gate = new();
        ParallelRunOptions options = Options(Checkpoint.File(Done));
        Task first = Items(3).ForEachParallelAsync(async (_, _) => await gate.WaitAsync(), options);
        IOException e = await Assert.ThrowsAsync<IOException>(() => RestAsync(Checkpoint.File(Done), 3));
        Assert.StartsWith($"The checkpoint {Done} is in use by another run", e.Message, StringComparison.Ordinal);
        gate.Open();
        await first;
        Assert.Equal(3, (await RestAsync(Checkpoint.File(Done), 3)).Count);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("write")]
    [InlineData("flush")]
    [InlineData("rename")]
    public async Task AFullDisk_StopsTheRun_AndLeavesTheCheckpointWhole(string operation)
    {
        ManualTimeProvider clock = new();
        ModelDisk disk = new();
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, TimeProvider = clock, Resume = new(new CheckpointFile("done", disk)) };
        List<int> ran = [];
        ValueTask Call(int item)
        {
            ran.Add(item);
            if (item == 10)
            {
                disk.Before = name =>
                {
                    if (name == operation)
                    {
                        throw new IOException("No space left on device.");
                    }
                };
            }

            clock.Advance(TimeSpan.FromMilliseconds(300));
            return default;
        }

        IOException e = await Assert.ThrowsAsync<IOException>(() => Items(50).ForEachParallelAsync((i, _) => Call(i), options));
        Assert.Contains("could not be saved, so the run has stopped: No space left on device.", e.Message, StringComparison.Ordinal);
        Assert.InRange(ran.Count, 11, 16);
        Assert.Equal(["done"], disk.Names);
        disk.Before = static _ => { };
        List<int> again = await Items(50).SelectParallelAsync(static (i, _) => new ValueTask<int>(i), options);

        // What was done in the second before the disk was full.
        Assert.InRange(again[0], 6, 10);
        Assert.Equal(Items(50).Skip(again[0]), again);
    }

    [Fact(Timeout = 60_000)]
    public async Task AFileThatIsNoCheckpoint_IsRefused()
    {
        await File.WriteAllTextAsync(Done, "my notes\n");
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(() => RestAsync(Checkpoint.File(Done), 3));
        Assert.StartsWith($"{Done} is no checkpoint of Weir", e.Message, StringComparison.Ordinal);
        Assert.Equal("my notes\n", await File.ReadAllTextAsync(Done));
    }

    [Theory(Timeout = 60_000)]
    [InlineData("folder", "cannot be used: it is a folder.")]
    [InlineData("nowhere/done", "cannot be used: Could not find a part of the path")]
    [InlineData("taken", "cannot be used: Access to the path")]
    public async Task AFileThatCannotBeACheckpoint_IsOneSentence(string name, string sentence)
    {
        Directory.CreateDirectory(Path.Combine(_folder, "folder"));
        Directory.CreateDirectory(Path.Combine(_folder, "taken.lock"));
        string path = Path.Combine(_folder, name);
        IOException e = await Assert.ThrowsAsync<IOException>(() => RestAsync(Checkpoint.File(path), 3));
        Assert.StartsWith($"The checkpoint {path} {sentence}", e.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task ASourceFileThatCannotBeRead_IsOneSentence()
    {
        string none = Path.Combine(_folder, "none.csv");
        IOException e = await Assert.ThrowsAsync<IOException>(() => RestAsync(Checkpoint.File(Done).OfFile(none), 3));
        Assert.StartsWith($"The source {none} cannot be used: Could not find file", e.Message, StringComparison.Ordinal);
        e = await Assert.ThrowsAsync<IOException>(() => RestAsync(Checkpoint.File(Done).OfFile(_folder), 3));
        Assert.Equal($"The source {_folder} cannot be used: it is a folder.", e.Message);

        // The refused run has let go of the checkpoint.
        Assert.Equal(3, (await RestAsync(Checkpoint.File(Done), 3)).Count);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void ACheckpointThatIsCutOrChanged_IsRefused(bool byKey)
    {
        DoneItems done = byKey ? new DoneItems([], ["12", "end 1", "\uD83D\uDE00"], 3) : DoneItems.Of([(0, 19), (30, 40)]);
        string whole = new CheckpointText("orders 2026-11-29", false, byKey, done).ToString();
        Assert.Equal(done.Count, CheckpointText.Parse(whole)!.Done.Count);
        for (int at = 0; at < whole.Length; at++)
        {
            Assert.Null(CheckpointText.Parse(whole[..at]));
            Assert.Null(CheckpointText.Parse(whole[..at] + (char)(whole[at] ^ 1) + whole[(at + 1)..]));
            Assert.Null(CheckpointText.Parse(whole[..at] + whole[(at + 1)..]));
            Assert.Null(CheckpointText.Parse(whole.Insert(at, "0")));
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task TwoItemsOfOneKey_AreRefused()
    {
        Checkpoint checkpoint = Checkpoint.File(Done).By(static (string item) => item[..1]);
        ParallelRunOptions options = Options(checkpoint) with { MaxDegreeOfParallelism = 1 };

        // If the first were noted as done, the second, which fails, would be left out of the next run.
        string[] items = ["a1", "b1", "a2"];
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(() => items.ForEachParallelAsync(
            (item, _) => item == "a2" ? throw new TestException() : default(ValueTask), options));
        Assert.Equal(
            $"Two items of the source have the key a: each item needs a key of its own, or the checkpoint {Done} could not tell which of them is done.", e.Message);

        // So would one whose key an earlier run has done.
        await Assert.ThrowsAsync<InvalidOperationException>(() => items.ForEachParallelAsync(static (_, _) => default(ValueTask), options));
        await items[..2].ForEachParallelAsync(static (_, _) => throw new TestException(), options);
    }

    [Fact(Timeout = 60_000)]
    public async Task KeysOfAnyText_AreToldApart()
    {
        // Halves of surrogate pairs, which UTF-8 does not have, and what its readers put in their place.
        string[] keys = ["\uD800", "\uDC00", "\uDC00\uD800", "\uFFFD", "\uD83D\uDE00", "\0", "\\", "\\d800", "\r", "\n", "\uFEFF", ""];
        foreach (string left in keys)
        {
            File.Delete(Done);
            ParallelRunOptions options = Options(Checkpoint.File(Done).By(static (string key) => key));
            await keys.ForEachParallelAsync((key, _) => key == left ? throw new TestException() : default(ValueTask), options);
            Assert.Equal([left], await keys.SelectParallelAsync(static (key, _) => new ValueTask<string>(key), options));
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task Progress_TellsWhatWasDoneBefore()
    {
        await StopAfterAsync(15, Checkpoint.File(Done));
        long resumed = -1;
        ConcurrentQueue<ProgressSnapshot> reports = [];
        ParallelRunOptions options = Options(Checkpoint.File(Done) with { OnResume = done => resumed = done }) with
        {
            Progress = new() { OnProgress = reports.Enqueue },
        };
        await Items(20).ForEachParallelAsync(static (_, _) => default(ValueTask), options);
        Assert.Equal(15, resumed);
        ProgressSnapshot last = reports.Last();
        Assert.Equal((15, 5, 20L, 100.0), (last.Skipped, last.Succeeded, last.TotalItems, last.PercentComplete));
    }

    [Fact(Timeout = 60_000)]
    public async Task Keys_AreSkippedInAnyOrder_OfAnySource()
    {
        Checkpoint checkpoint = Checkpoint.File(Done).By((string name) => name);
        ParallelRunOptions options = new() { ErrorMode = ErrorMode.BestEffort, Resume = checkpoint };
        string[] names = ["a\nb", "c\\d", "", "end", "weir", "ä"];
        await names.ForEachParallelAsync((name, _) => name == "weir" ? throw new TestException() : default(ValueTask), options);
        Channel<string> channel = Channel.CreateUnbounded<string>();
        foreach (string name in names.Reverse().Append("new"))
        {
            channel.Writer.TryWrite(name);
        }

        channel.Writer.Complete();
        List<string> left = await channel.Reader.SelectParallelAsync(static (name, _) => new ValueTask<string>(name), options);
        Assert.Equal(["weir", "new"], left);
    }

    [Fact(Timeout = 60_000)]
    public async Task Batches_AreMadeOfWhatIsLeft()
    {
        ParallelRunOptions options = Options(Checkpoint.File(Done));
        await Items(10).ForEachBatchParallelAsync(3, (batch, _) => batch[0] == 3 ? throw new TestException() : default(ValueTask), options);
        ConcurrentQueue<int[]> again = [];
        await Items(10).ForEachBatchParallelAsync(
            2,
            (batch, _) =>
            {
                again.Enqueue([.. batch]);
                return default(ValueTask);
            },
            options with { MaxDegreeOfParallelism = 1 },
            batchTimeout: TimeSpan.FromMinutes(1));
        Assert.Equal([[3, 4], [5]], again);
    }

    [Fact]
    public void WhatCannotGoOn_IsRefusedAtTheCall()
    {
        Channel<int> channel = Channel.CreateUnbounded<int>();
        Assert.Contains(
            "A channel does not give the same items",
            Refused(() => channel.Reader.ForEachParallelAsync(static (_, _) => default(ValueTask), Options(Checkpoint.File(Done)))),
            StringComparison.Ordinal);
        Assert.Contains(
            "A channel does not give the same items",
            Refused(() => channel.Reader.PartitionBy(static i => i).SelectParallelStreamAsync(static (i, _) => new ValueTask<int>(i), Options(Checkpoint.File(Done)))),
            StringComparison.Ordinal);
        Assert.Contains(
            "A WorkQueue has no Resume",
            Refused(() => new WorkQueue<int>().ForEachParallelAsync(static (_, _) => default(ValueTask), Options(Checkpoint.File(Done)))),
            StringComparison.Ordinal);
        Assert.Contains(
            "takes keys of String, but the items are of type Int32",
            Refused(() => Items(3).SelectParallelStreamAsync(static (i, _) => new ValueTask<int>(i), Options(Checkpoint.File(Done).By((string s) => s)))),
            StringComparison.Ordinal);
        Assert.Contains(
            "must be text, integers or Guids, not Double",
            Refused(() => Checkpoint.File(Done).By(static (int i) => (double)i)),
            StringComparison.Ordinal);
        Assert.Contains(
            "Resume must be null in the Policies of a runtime",
            Refused(() => new ConcurrentRuntime(2, new() { Policies = Options(Checkpoint.File(Done)) })),
            StringComparison.Ordinal);
    }

    [Fact]
    public void Ranges_AreThoseOfASet()
    {
        Random random = new(1);
        for (int round = 0; round < 2_000; round++)
        {
            DoneItems done = new();
            HashSet<long> all = [];
            for (int i = random.Next(40); i > 0; i--)
            {
                long position = random.Next(30);
                done.Add(position);
                all.Add(position);
            }

            List<long> ranges = [.. done.Ranges.SelectMany(static r => Enumerable.Range((int)r.First, (int)(r.End - r.First))).Select(static i => (long)i)];
            Assert.Equal(all.Order(), ranges);
            Assert.All(done.Ranges.Zip(done.Ranges.Skip(1)), static pair => Assert.True(pair.First.End < pair.Second.First));
            DoneItems read = CheckpointText.Parse(new CheckpointText("", false, false, done).ToString())!.Done;
            Assert.Equal(done.Ranges, read.Ranges);
        }
    }

    private static int[] Items(int count) => [.. Enumerable.Range(0, count)];

    private static ParallelRunOptions Options(Checkpoint checkpoint) => new() { ErrorMode = ErrorMode.BestEffort, Resume = checkpoint };

    private static string Refused(Func<object> call) => Assert.ThrowsAny<ArgumentException>(call).Message;

    private static Task<List<int>> RestAsync(Checkpoint checkpoint, int count) =>
        Items(count).SelectParallelAsync(static (i, _) => new ValueTask<int>(i), Options(checkpoint));

    // A run of twenty items that the caller cancels.
    private static async Task<int> StopAfterAsync(int count, Checkpoint checkpoint)
    {
        using CancellationTokenSource stop = new();
        int ran = 0;
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Items(20).ForEachParallelAsync(
            (_, token) =>
            {
                if (ran == count)
                {
                    stop.Cancel();
                    token.ThrowIfCancellationRequested();
                }

                ran++;
                return default(ValueTask);
            },
            Options(checkpoint) with { MaxDegreeOfParallelism = 1 },
            stop.Token));
        return ran;
    }
}
