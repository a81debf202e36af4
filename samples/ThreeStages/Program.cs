using Weir;

int count = args.Length > 0 ? int.Parse(args[0]) : 300;
string folder = Directory.CreateTempSubdirectory("weir-stages-").FullName;
using CancellationTokenSource stop = new();
Console.CancelKeyPress += (_, e) => { e.Cancel = true; stop.Cancel(); };

// Each stage is a source of the next one, with a limit of its own. At most a few hundred documents are in memory, whatever the number of them.
IAsyncEnumerable<string> loaded = Enumerable.Range(0, count).SelectParallelStreamAsync(
    LoadAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 16, Output = new() { ChannelCapacity = 32 } });
IAsyncEnumerable<Summary> parsed = loaded.SelectParallelStreamAsync(
    Parse, new ParallelRunOptions { MaxDegreeOfParallelism = Environment.ProcessorCount, Output = new() { ChannelCapacity = 32 } });
int stored = 0;
await parsed.ForEachParallelAsync(StoreAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 4 }, stop.Token);

Console.WriteLine($"{stored} summaries stored; the folder has {Directory.GetFiles(folder).Length} files");
Directory.Delete(folder, recursive: true);

// Stage 1 waits: for a server, a disk, a database.
static async ValueTask<string> LoadAsync(int number, CancellationToken token)
{
    await Task.Delay(2, token);
    return $"document {number}: {string.Join(' ', Enumerable.Range(0, number % 50))}";
}

// Stage 2 computes.
static Summary Parse(string document)
{
    string[] words = document.Split(' ');
    return new Summary(words[1].TrimEnd(':'), words.Length);
}

// Stage 3 writes. An exception from any stage ends all of them and surfaces here.
async Task StoreAsync(Summary summary, CancellationToken token)
{
    await File.WriteAllTextAsync(Path.Combine(folder, summary.Number + ".txt"), $"{summary.Words} words", token);
    Interlocked.Increment(ref stored);
}

internal sealed record Summary(string Number, int Words);
