using Weir.Cli.Commands.Compare;

namespace Weir.Cli.Tests.Commands.Compare;

public class TargetFrameworksTests
{
    [Theory]
    [InlineData("net8.0;net10.0", "net10.0")]
    [InlineData("net10.0;net8.0;netstandard2.0", "net10.0")]
    [InlineData("net11.0;net9.0;net8.0", "net9.0")]
    [InlineData("net472;netstandard2.0;netstandard2.1", "netstandard2.1")]
    [InlineData("netstandard2.1;netcoreapp3.1", "netcoreapp3.1")]
    [InlineData("net10.0-android;net8.0", "net8.0")]
    [InlineData("net48;net10.0-ios", null)]
    public void Highest_OfSeveral_IsTheNearestThatRuns(string names, string? highest) =>
        Assert.Equal(highest, TargetFrameworks.Highest(names.Split(';'), 10));
}
