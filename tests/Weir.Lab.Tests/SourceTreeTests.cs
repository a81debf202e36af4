using System.Diagnostics;
using Weir.Lab.Resources;

namespace Weir.Lab.Tests;

public class SourceTreeTests
{
    [Fact(Timeout = 300_000)]
    public async Task Read_OfARepository_HasItsCommitAndWhetherItWasChanged()
    {
        string directory = Directory.CreateTempSubdirectory("weir-tree-").FullName;
        try
        {
            Assert.SkipUnless(Git(directory, "init", "-q"), "There is no git here.");
            Assert.Null(Read(directory));

            string file = Path.Combine(directory, "a.txt");
            await File.WriteAllTextAsync(file, "one", TestContext.Current.CancellationToken);
            Assert.True(Git(directory, "add", "."));
            Assert.True(Git(directory, "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "one"));
            SourceTree? clean = Read(directory);
            await File.WriteAllTextAsync(Path.Combine(directory, "untracked.txt"), "x", TestContext.Current.CancellationToken);
            SourceTree? beside = Read(directory);
            await File.WriteAllTextAsync(file, "changed", TestContext.Current.CancellationToken);
            SourceTree? changed = Read(directory);

            Assert.NotNull(clean);
            Assert.True(clean is { IsClean: true, Commit.Length: >= 40 });
            Assert.Equal(clean, beside);
            Assert.Equal(clean with { IsClean = false }, changed);
            Assert.Equal(clean, Read(directory, ":/other"));
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    [Fact]
    public void Read_OutsideARepository_IsNothing() => Assert.Null(SourceTree.Read(Path.GetPathRoot(Path.GetTempPath())));

    [Fact(Timeout = 120_000)]
    public async Task Read_ByASlowGit_SaysThatItWaitsAndHasItsAnswer()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The slow git is a script of sh.");
        string directory = Directory.CreateTempSubdirectory("weir-slow-git-").FullName;
        try
        {
            string go = Path.Combine(directory, "go");
            List<string> said = [];
            GitCalls slow = new()
            {
                Program = await ScriptAsync(directory, $"[ $1 = status ] || {{ while [ ! -e '{go}' ]; do sleep 0.01; done; echo abc; }}"),
                Patience = TimeSpan.FromMilliseconds(20),
                Say = line =>
                {
                    said.Add(line);
                    File.WriteAllText(go, "");
                },
            };

            SourceTree? read = SourceTree.ReadBy(slow);

            Assert.Equal(new SourceTree("abc", IsClean: true), read);
            Assert.Equal("waiting for git rev-parse.", said[0]);
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    [Fact(Timeout = 120_000)]
    public async Task Read_Stopped_EndsGitAndSaysNothingOfTheTree()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The git without an end is a script of sh.");
        string directory = Directory.CreateTempSubdirectory("weir-slow-git-").FullName;
        try
        {
            using CancellationTokenSource stop = new();
            GitCalls endless = new()
            {
                Program = await ScriptAsync(directory, "exec sleep 100000"), Patience = TimeSpan.Zero, Say = _ => stop.Cancel(), Stop = stop.Token,
            };

            Assert.ThrowsAny<OperationCanceledException>(() => SourceTree.ReadBy(endless));
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    // What was measured may have taken all threads of the pool for good.
    [Fact(Timeout = 120_000)]
    public async Task Read_WithoutAThreadOfThePool_HasItsAnswer()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The git is a script of sh.");
        string directory = Directory.CreateTempSubdirectory("weir-slow-git-").FullName;
        ThreadPool.GetMaxThreads(out int most, out int ports);
        TaskCompletionSource end = new();
        try
        {
            GitCalls git = new() { Program = await ScriptAsync(directory, "[ $1 = status ] || echo abc") };
            ThreadPool.GetMinThreads(out int least, out _);
            Assert.True(ThreadPool.SetMaxThreads(least, ports));
            for (int i = 0; i < least; i++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ => end.Task.Wait(), null);
            }

            // On a thread of its own: this one may be of the pool, and is one of those that are taken then.
            SourceTree? read = null;
            Thread reader = new(() =>
            {
                read = SourceTree.ReadBy(git);
                end.TrySetResult();
            });
            reader.Start();
            reader.Join();

            Assert.Equal(new SourceTree("abc", IsClean: true), read);
        }
        finally
        {
            end.TrySetResult();
            ThreadPool.SetMaxThreads(most, ports);
            Directory.Delete(directory, recursive: true);
        }
    }

    private static async Task<string> ScriptAsync(string directory, string line)
    {
        string path = Path.Combine(directory, "git");
        await File.WriteAllTextAsync(path, $"#!/bin/sh\n{line}\n", TestContext.Current.CancellationToken);
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserExecute);
        }

        return path;
    }

    private static SourceTree? Read(string directory, params IReadOnlyList<string> paths) => SourceTree.Read(directory, paths);

    private static bool Git(string directory, params string[] arguments)
    {
        try
        {
            using Process git = Process.Start(
                new ProcessStartInfo("git", arguments) { WorkingDirectory = directory, RedirectStandardOutput = true, RedirectStandardError = true })!;
            git.WaitForExit();
            return git.ExitCode == 0;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return false;
        }
    }
}
