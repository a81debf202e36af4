using Weir.Lab.Processes;

namespace Weir.Lab.Tests.Processes;

/// <summary>Which file of an assembly is started or given away.</summary>
public class BesideProgramTests
{
    [Theory]
    [InlineData("tool/runtimes/linux-x64/lib/net10.0/Weir.Cli.dll", "tool/Weir.Cli.dll")]
    [InlineData("tool/Weir.Cli.dll", "tool/Weir.Cli.dll")]
    [InlineData("tool/runtimes.dll", "tool/runtimes.dll")]
    [InlineData("user/runtimes/linux-x64/lib/net10.0/App.dll", "user/runtimes/linux-x64/lib/net10.0/App.dll")]
    public void FileOf_MachineCodeOfTheProgramsPackage_IsTheFileBesideTheProgram(string loaded, string expected) =>
        Assert.Equal(Native(expected), BesideProgram.FileOf(Native(loaded), Native("tool") + Path.DirectorySeparatorChar));

    private static string Native(string path) => Path.Combine([Path.GetTempPath(), .. path.Split('/')]);
}
