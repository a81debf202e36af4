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

    // A git that is held up has no answer within five seconds, which is no answer of the tree.
    private static SourceTree? Read(string directory, params IReadOnlyList<string> paths) => SourceTree.Read(TimeSpan.FromMinutes(2), directory, paths);

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
