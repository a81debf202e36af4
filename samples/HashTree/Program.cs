using System.Security.Cryptography;
using Weir;

if (args.Length == 0 || !Directory.Exists(args[0]))
{
    Console.Error.WriteLine("Give a directory.");
    return 2;
}

string root = Path.GetFullPath(args[0]);
using CancellationTokenSource stop = new();
Console.CancelKeyPress += (_, e) => { e.Cancel = true; stop.Cancel(); };

// The tree is read while files are hashed, and lines are written in its order. An unreadable file does not end the run.
EnumerationOptions all = new() { RecurseSubdirectories = true, AttributesToSkip = FileAttributes.ReparsePoint };
int files = 0;
int failed = 0;
long bytes = 0;
ParallelRunOptions options = new()
{
    MaxDegreeOfParallelism = 2 * Environment.ProcessorCount,
    OrderedOutput = true,
    Progress = new ProgressOptions
    {
        ReportInterval = TimeSpan.FromSeconds(1),
        OnProgress = p => Console.Error.WriteLine($"{p.Succeeded} files, {Interlocked.Read(ref bytes):N0} bytes, {p.ItemsPerSecond:F0} files/s"),
    },
};

try
{
    IEnumerable<string> tree = Directory.EnumerateFiles(root, "*", all).Select(file => Path.GetRelativePath(root, file));
    await foreach ((_, ItemOutcome<string, string> line) in tree.SelectParallelOutcomesStreamAsync(HashAsync, options, stop.Token))
    {
        if (line.IsSuccess)
        {
            files++;
            Console.WriteLine(line.Value);
        }
        else
        {
            failed++;
            Console.Error.WriteLine($"{line.Item}: {line.Error!.Message}");
        }
    }
}
catch (OperationCanceledException) when (stop.IsCancellationRequested)
{
    Console.Error.WriteLine($"stopped after {files} files");
    return 130;
}

Console.Error.WriteLine($"{files} files hashed, {failed} failed, {bytes:N0} bytes");
return failed == 0 ? 0 : 1;

async Task<string> HashAsync(string file, CancellationToken token)
{
    await using FileStream stream = new(Path.Combine(root, file), FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0, useAsync: true);
    string hash = Convert.ToHexStringLower(await SHA256.HashDataAsync(stream, token));
    Interlocked.Add(ref bytes, stream.Length);
    return $"{hash}  {file}";
}
