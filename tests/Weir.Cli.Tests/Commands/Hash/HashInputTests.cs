using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Hash;

public class HashInputTests
{
    [Theory(Timeout = 300_000)]
    [InlineData("", "--input must be the directory of the files, such as --input ./files; missing files are created in it.")]
    [InlineData("--input D --files 0", "--files must be a whole number from 1 to 100,000; it is '0'.")]
    [InlineData("--input D --size 0", "--size must be a size from 1 B to 64 GB such as 16MiB; it is '0'.")]
    [InlineData("--input D --size big", "--size must be a size from 1 B to 64 GB such as 16MiB; it is 'big'.")]
    [InlineData("--input D --rounds 0", "--rounds must be a whole number from 1 to 10,000; it is '0'.")]
    [InlineData("--input D --workers 0", "--workers must be different whole numbers from 1 to 4,096 separated by commas, such as 1,2,4; it is '0'.")]
    [InlineData("--input D --arms sync,fast", "--arms must be different arms among sync, async, direct and foreach, separated by commas; it is 'sync,fast'.")]
    [InlineData("--input D --arms sync,sync", "--arms must be different arms among sync, async, direct and foreach, separated by commas; it is 'sync,sync'.")]
    [InlineData("--input D --arms sync --async", "--async and --arms cannot be used together; write --arms async.")]
    [InlineData("--input D --cache cold", "--cache must be drop, warm or direct; it is 'cold'.")]
    [InlineData("--input D --cache direct --buffer 1000", "--buffer must be a multiple of 4,096 bytes for reads that bypass the page cache; it is '1000'.")]
    [InlineData("--input D --inflight 0", "--inflight must be a whole number from 1 to 4,096; it is '0'.")]
    [InlineData("--input D --min-threads 0", "--min-threads must be a whole number from 1 to 32,767; it is '0'.")]
    [InlineData("--input D --isolate yes", "--isolate must be auto, process or none; it is 'yes'.")]
    [InlineData("--input D --export pdf", "--export must be md, csv, json, html, hgrm and speedscope, separated by commas; it is 'pdf'.")]
    public async Task Hash_BadInput_IsOneClearLine(string options, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync("hash " + options);

        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"weir: {message}\n", result.Error);
        Assert.Empty(result.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task Hash_MoreThanTheDeviceHolds_SaysHowMuchIsMissing()
    {
        using TemporaryDirectory directory = new();

        LoadResult result = await new CliUnderTest().RunAsync($"hash --input {directory.Path} --files 100000 --size 64GiB");

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("lower --files or --size", result.Error, StringComparison.Ordinal);
        Assert.Empty(Directory.EnumerateFiles(directory.Path));
    }

    [Fact(Timeout = 300_000)]
    public async Task Hash_InputIsAFile_SaysSo()
    {
        using TemporaryFile file = new("");

        LoadResult result = await new CliUnderTest().RunAsync($"hash --input {file.Path}");

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"weir: --input '{file.Path}' cannot be used: ", result.Error, StringComparison.Ordinal);
    }
}
