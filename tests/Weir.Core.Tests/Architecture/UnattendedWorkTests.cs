using System.Text.RegularExpressions;

namespace Weir.Core.Tests.Architecture;

/// <summary>
/// Does everything that is given to the pool, to a timer, to a token or to a thread of our own catch what it throws? There, an exception ends the process.
/// </summary>
public partial class UnattendedWorkTests
{
    // Each of them says there why it throws nothing, or why what it throws has to end the process.
    private static readonly (string File, string Text)[] Known =
    [
        ("Batches.cs", "static action => action()"),
        ("Pump.cs", "static pump => pump.CompleteRun()"),
        ("Protocol.cs", "static info => info.Throw()"),
        ("WatchThread.cs", "TryFire()"),
        ("WatchThread.cs", "new Thread(Run)"),
        ("ConsumerLeases.cs", "new Thread(Run"),
        ("Executor.cs", "RunHost"),
        ("Executor.cs", "MoveToSpare"),
        ("RunStop.cs", "static _ => { }"),
        ("ItemGuard.cs", "((AbandonTimer)again!).Run()"),
        ("HostRun.cs", "_core.SetResult(true)"),
        ("DiscardedResult.cs", "_ = DropAsync(result)"),
    ];

    // Its one place is a timer that fires again and again: nobody waits for a single time.
    private static readonly string[] FailedElsewhere = ["Weir.RabbitMQ"];

    [Fact]
    public void Sources_WhereCodeIsCalledBack_CatchWhatItThrows()
    {
        List<string> open = [];
        int places = 0;
        foreach (string file in Directory.EnumerateFiles(Path.Combine(Repository.Root, "src"), "*.cs", SearchOption.AllDirectories))
        {
            if (file.Contains($"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}", StringComparison.Ordinal))
            {
                continue;
            }

            string code = Comment().Replace(File.ReadAllText(file), "");
            foreach (Match call in Call().Matches(code))
            {
                string text = ToTheEnd(code, call.Index + call.Length - 1);

                // Without a lambda, it is a work item, whose own method is looked at below.
                if (text.Contains("=>", StringComparison.Ordinal) || call.Value.StartsWith("new Thread", StringComparison.Ordinal))
                {
                    Check(file, call.Value[..^1] + text);
                }
            }

            foreach (Match method in Execute().Matches(code))
            {
                Check(file, method.Value + BodyOf(code, method.Index + method.Length));
            }
        }

        Assert.True(places > 40, $"Only {places} places were found.");
        Assert.True(open.Count == 0, string.Join(Environment.NewLine, open));

        void Check(string file, string text)
        {
            places++;
            if (!Catches().IsMatch(text) && !Known.Any(known =>
                Path.GetFileName(file) == known.File && text.Contains(known.Text, StringComparison.Ordinal)))
            {
                open.Add($"{Path.GetRelativePath(Repository.Root, file)}: {Space().Replace(text, " ")}");
            }
        }
    }

    [Fact]
    public void Projects_WithSuchPlaces_HaveATestThatFailsEachOfThem()
    {
        string[] tests = [.. Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests"), "*.cs", SearchOption.AllDirectories)
            .Where(static file => !file.EndsWith("UnattendedWorkTests.cs", StringComparison.Ordinal)).Select(File.ReadAllText)];
        string[] open = [.. Directory.EnumerateDirectories(Path.Combine(Repository.Root, "src"))
            .Select(static project => Path.GetFileName(project))
            .Where(static project => !FailedElsewhere.Contains(project) && FaultPlaces.InSources(project).Count > 0)
            .Where(project => !Array.Exists(tests, test => test.Contains($"FaultPlaces.InSources(\"{project}\"", StringComparison.Ordinal)))];
        Assert.Empty(open);
    }

    /// <summary>From an opening bracket to the one that closes it.</summary>
    private static string ToTheEnd(string code, int from, char opening = '(', char closing = ')')
    {
        int depth = 0;
        for (int at = from; at < code.Length; at++)
        {
            depth += code[at] == opening ? 1 : code[at] == closing ? -1 : 0;
            if (depth == 0)
            {
                return code[from..(at + 1)];
            }
        }

        return code[from..];
    }

    /// <summary>What stands behind a method's brackets: its block, or what follows the arrow.</summary>
    private static string BodyOf(string code, int from)
    {
        int block = code.IndexOf('{', from);
        int arrow = code.IndexOf("=>", from, StringComparison.Ordinal);
        return arrow >= 0 && (arrow < block || block < 0)
            ? code[arrow..(code.IndexOf(";\n", arrow, StringComparison.Ordinal) + 1)]
            : ToTheEnd(code, block, '{', '}');
    }

    [GeneratedRegex(
        @"\b(UnsafeQueueUserWorkItem|QueueUserWorkItem|(?<!WatchTime\.)CreateTimer|new WatchTimer|UnsafeRegister|[a-z]\.Register|new Thread)\(")]
    private static partial Regex Call();

    [GeneratedRegex(@"void (IThreadPoolWorkItem\.)?Execute\(\)")]
    private static partial Regex Execute();

    [GeneratedRegex(
        @"Unattended\.|\w+Unattended\(\)|UrgentWork\.Queue|catch \(Exception|_ = \w+Async\(\)|TryExecuteTask|_work!?\.Execute|TryAbort|CancelUnattended")]
    private static partial Regex Catches();

    [GeneratedRegex(@"//[^\n]*")]
    private static partial Regex Comment();

    [GeneratedRegex(@"\s+")]
    private static partial Regex Space();
}
