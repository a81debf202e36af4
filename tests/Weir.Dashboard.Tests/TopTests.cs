using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.Hosting;

namespace Weir.Dashboard.Tests;

/// <summary><c>weir top</c> over the page of an application.</summary>
public sealed class TopTests
{
    [Fact(Timeout = 60_000)]
    public async Task Top_PageBehindAPolicy_LetsInWhoHasTheHeader()
    {
        SharedConcurrencyLimit shared = new(3) { Name = "behind a policy" };
        await using Site site = await Site.StartAsync(static options => options.Policy = "viewers");
        string address = $"{site.Address}weir";
        (int code, string output, string refusal) = await RunAsync(address, "--once");
        Assert.Equal((1, ""), (code, output));
        Assert.Equal($"weir: {address} answers 401 and does not let you in: say who you are with --header \"Name: value\", as it wants it.", refusal.TrimEnd());
        Assert.Equal((1, "", refusal), await RunAsync(address, "--once", "--header", "X-Other: secret"));
        (code, output, string error) = await RunAsync(address, "--once", "--header", "Accept-Language: en", "--header", "X-User: ada");
        Assert.Equal((0, ""), (code, error));
        Assert.Contains("behind a policy", output, StringComparison.Ordinal);
        Assert.DoesNotContain("ada", output, StringComparison.Ordinal);
        GC.KeepAlive(shared);
    }

    private static async Task<(int Code, string Output, string Error)> RunAsync(params string[] arguments)
    {
        using StringWriter output = new();
        using StringWriter error = new();
        CliHost shared = new()
        {
            Name = WeirApp.Name, Out = output, Error = error, OutIsTerminal = false, ErrorIsTerminal = false, Variable = static _ => null,
        };
        int code = await WeirApp.RunAsync(["top", .. arguments], new WeirHost(shared)).WithinAsync("top");
        return (code, output.ToString(), error.ToString());
    }
}
