using Microsoft.Playwright;
using Weir.TestKit;

namespace Weir.Cli.Tests.Report.Page;

/// <summary>The system's Chromium, without a window. It is started once for all tests of the page.</summary>
public sealed class Browser : IAsyncLifetime
{
    private static readonly string[] Places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

    private IPlaywright? _playwright;
    private IBrowser? _browser;

    /// <summary>Where the screenshots go, beside the other results of the build.</summary>
    public static string Screenshots => Directory.CreateDirectory(Path.Combine(Repository.Root, "artifacts", "screenshots")).FullName;

    public async ValueTask InitializeAsync()
    {
        string? executable = Environment.GetEnvironmentVariable("WEIR_CHROMIUM") is { Length: > 0 } given ? given : Places.FirstOrDefault(File.Exists);
        if (executable is null)
        {
            return;
        }

        _playwright = await Playwright.CreateAsync();
        _browser = await _playwright.Chromium.LaunchAsync(new BrowserTypeLaunchOptions
        {
            ExecutablePath = executable,
            Headless = true,

            // As root, which builds often run as, Chromium cannot confine itself.
            Args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        });
    }

    /// <summary>Opens a page of a width.</summary>
    public Task<IPage> OpenAsync(int width, ColorScheme colours) =>
        OpenAsync(new BrowserNewPageOptions { ViewportSize = new ViewportSize { Width = width, Height = 900 }, ColorScheme = colours });

    /// <summary>Opens an empty page with options of its own: without script, say, or as somebody.</summary>
    public Task<IPage> OpenAsync(BrowserNewPageOptions options)
    {
        Assert.SkipWhen(_browser is null, "There is no Chromium here; .ci/chromium installs it.");
        return _browser!.NewPageAsync(options);
    }

    public async ValueTask DisposeAsync()
    {
        if (_browser is not null)
        {
            await _browser.DisposeAsync();
        }

        _playwright?.Dispose();
    }
}
