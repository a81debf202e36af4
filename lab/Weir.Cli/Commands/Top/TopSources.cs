using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Net.Http.Headers;
using System.Runtime.CompilerServices;
using System.Text.Json;
using System.Threading.Channels;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;
using Weir.Observability;

namespace Weir.Cli.Commands.Top;

/// <summary>Where snapshots come from. What cannot be read at all is a <see cref="BadInputException"/>; what ends later is an end.</summary>
internal interface ITopSource : IDisposable
{
    /// <summary>A sentence about the end.</summary>
    string Ended { get; }

    IAsyncEnumerable<WeirSnapshot> ReadAsync(CancellationToken stop);
}

/// <summary>Makes sources from what the user gave, and finds processes.</summary>
internal static class TopSources
{
    private const string Loaded = "Weir.Core.dll";

    public static ITopSource Of(string given, TimeSpan interval, IReadOnlyList<(string Name, string Value)> headers) =>
        int.TryParse(given, NumberStyles.None, CultureInfo.InvariantCulture, out int process)
            ? headers.Count == 0 ? new PipeSource(process, interval) : throw new BadInputException("--header is for the address of a page, and not for a process.")
        : Uri.TryCreate(given, UriKind.Absolute, out Uri? address) && address.Scheme is "http" or "https" ? new PageSource(address!, interval, headers)
        : throw new BadInputException("top needs the number of a process, or an address that begins with http:// or https://.");

    /// <summary>
    /// Reads a header, or those of a file, one a line: <c>@file</c>, as of curl, for what other users must not see among the arguments. What is wrong with one
    /// is said without its text, which may be a secret.
    /// </summary>
    public static IReadOnlyList<(string Name, string Value)> Headers(string given)
    {
        const string header = "the name of a request header, a colon and a value of one line in ASCII";
        if (!given.StartsWith('@'))
        {
            return Header(given) is { } one
                ? [one]
                : throw new BadInputException($"--header must be {header}, such as --header \"Authorization: Bearer ...\", or @ and a file with such lines.");
        }

        string file = TopView.Shown(given[1..]);
        string[] lines;
        try
        {
            lines = ReadLines(given[1..]);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            throw new BadInputException($"The file '{file}' of --header cannot be read: {e.Message.TrimEnd('.')}.");
        }

        List<(string, string)> headers = [];
        for (int i = 0; i < lines.Length; i++)
        {
            if (lines[i].Trim() is { Length: > 0 } line)
            {
                headers.Add(Header(line) ?? throw new BadInputException($"Line {i + 1} of the file '{file}' of --header must be {header}."));
            }
        }

        return headers.Count > 0 ? headers : throw new BadInputException($"The file '{file}' of --header must have a header, and it is empty.");
    }

    private static string[] ReadLines(string file)
    {
        const int most = 64 * 1024;

        // The length of a pipe is not known, and a device may have no end.
        char[] text = new char[most + 1];
        using StreamReader reader = new(file);
        int length = reader.ReadBlock(text);
        return length <= most ? new string(text, 0, length).Split('\n') : throw new IOException("it has more than 64 kB");
    }

    private static (string Name, string Value)? Header(string given)
    {
        int colon = given.IndexOf(':', StringComparison.Ordinal);
        (string name, string value) = colon < 0 ? ("", "") : (given[..colon], given[(colon + 1)..].Trim());
        using HttpRequestMessage request = new();
        return value.Length > 0 && value.All(static c => c is >= ' ' and <= '~') && request.Headers.TryAddWithoutValidation(name, value) ? (name, value) : null;
    }

    /// <summary>The processes of this machine that have Weir loaded, without this one.</summary>
    public static IReadOnlyList<(int Id, string Name)> Processes()
    {
        List<(int, string)> found = [];
        foreach (int id in DiagnosticsClient.GetPublishedProcesses().Where(static id => id != Environment.ProcessId).Order())
        {
            try
            {
                using Process process = Process.GetProcessById(id);
                if (HasLoaded(process))
                {
                    found.Add((id, CommandOf(process)));
                }
            }
            catch (Exception e) when (e is ArgumentException or InvalidOperationException or System.ComponentModel.Win32Exception or NotSupportedException
                or IOException or UnauthorizedAccessException)
            {
                // It has ended, or belongs to another user.
            }
        }

        return found;
    }

    // The list of modules has only what can be executed, and on Linux an assembly of IL is only read.
    private static bool HasLoaded(Process process) => OperatingSystem.IsLinux()
        ? File.ReadLines($"/proc/{process.Id}/maps").Any(static line => line.EndsWith("/" + Loaded, StringComparison.Ordinal))
        : process.Modules.Cast<ProcessModule>().Any(static m => m.ModuleName.Equals(Loaded, StringComparison.OrdinalIgnoreCase));

    // Most are called dotnet.
    private static string CommandOf(Process process)
    {
        string path = $"/proc/{process.Id}/cmdline";
        return File.Exists(path)
            ? string.Join(' ', File.ReadAllText(path).Split('\0', StringSplitOptions.RemoveEmptyEntries).Select(static word => Path.GetFileName(word)))
            : process.ProcessName;
    }

    /// <summary>A page of Weir.Dashboard, which answers with its snapshot when it is asked for JSON.</summary>
    private sealed class PageSource(Uri address, TimeSpan interval, IReadOnlyList<(string Name, string Value)> headers) : ITopSource
    {
        private const int MostBytes = 256 << 20;

        // No page that it leads to: the answer would be one of another server.
        private readonly HttpClient _client = new(new SocketsHttpHandler { AllowAutoRedirect = false })
        {
            Timeout = TimeSpan.FromSeconds(10), MaxResponseContentBufferSize = MostBytes,
        };

        public string Ended { get; private set; } = "";

        public void Dispose() => _client.Dispose();

        public async IAsyncEnumerable<WeirSnapshot> ReadAsync([EnumeratorCancellation] CancellationToken stop)
        {
            for (bool isFirst = true; ; isFirst = false)
            {
                (WeirSnapshot? snapshot, string? problem) = await AskAsync(stop);
                if (snapshot is null)
                {
                    if (isFirst)
                    {
                        throw new BadInputException(problem!);
                    }

                    Ended = problem!;
                    yield break;
                }

                yield return snapshot;
                await Task.Delay(interval, stop);
            }
        }

        private async Task<(WeirSnapshot? Snapshot, string? Problem)> AskAsync(CancellationToken stop)
        {
            string where = address.GetLeftPart(UriPartial.Path).Replace(address.UserInfo + "@", "", StringComparison.Ordinal);
            try
            {
                using HttpRequestMessage request = new(HttpMethod.Get, address);
                request.Headers.Accept.Add(new MediaTypeWithQualityHeaderValue("application/json"));
                foreach ((string name, string value) in headers)
                {
                    request.Headers.TryAddWithoutValidation(name, value);
                }

                using HttpResponseMessage answer = await _client.SendAsync(request, stop);
                return answer.IsSuccessStatusCode
                    ? (WeirSnapshot.FromJson(await answer.Content.ReadAsByteArrayAsync(stop)), null)
                    : (int)answer.StatusCode is (>= 300 and < 400) or 401 or 403
                    ? (null, $"{where} answers {(int)answer.StatusCode} and does not let you in: say who you are with --header \"Name: value\", as it wants it.")
                    : (null, $"{where} answers {(int)answer.StatusCode}, and no snapshot of Weir: give the address that MapWeir has.");
            }
            catch (JsonException)
            {
                return (null, $"What {where} answers is no snapshot of Weir that this version knows: give the address that MapWeir has.");
            }
            catch (HttpRequestException e)
            {
                return (null, $"{where} does not answer: {e.Message.TrimEnd('.')}.");
            }
            catch (Exception e) when (e is TaskCanceledException or ObjectDisposedException && !stop.IsCancellationRequested)
            {
                return (null, $"{where} does not answer within {_client.Timeout.TotalSeconds:0} s.");
            }
        }
    }

    /// <summary>
    /// A process of this machine, whose event source <c>Weir-Live</c> writes snapshots while this one listens: see LiveEvents.cs in Weir.Core.
    /// </summary>
    private sealed class PipeSource(int process, TimeSpan interval) : ITopSource
    {
        // Of the process, it is created two seconds after the first run.
        private static readonly TimeSpan Patience = TimeSpan.FromSeconds(6);

        // The newest is enough for a terminal that is slow.
        private readonly Channel<WeirSnapshot> _snapshots = Channel.CreateBounded<WeirSnapshot>(
            new BoundedChannelOptions(1) { FullMode = BoundedChannelFullMode.DropOldest });

        private readonly StringBuilder _parts = new();
        private int _look;
        private int _rest;

        public string Ended => $"Process {process} has ended.";

        public void Dispose() => _snapshots.Writer.TryComplete();

        public async IAsyncEnumerable<WeirSnapshot> ReadAsync([EnumeratorCancellation] CancellationToken stop)
        {
            using EventPipeSession session = await OpenAsync(stop);
            Task reading = Task.Run(() => Read(session), CancellationToken.None);
            try
            {
                using CancellationTokenSource first = CancellationTokenSource.CreateLinkedTokenSource(stop);
                first.CancelAfter(Patience);
                bool isThere;
                try
                {
                    isThere = await _snapshots.Reader.WaitToReadAsync(first.Token);
                }
                catch (OperationCanceledException) when (!stop.IsCancellationRequested)
                {
                    throw new BadInputException($"Process {process} sends no snapshot: Weir is not loaded in it, or has not begun a run.");
                }

                while (isThere)
                {
                    if (_snapshots.Reader.TryRead(out WeirSnapshot? snapshot))
                    {
                        yield return snapshot;
                    }

                    isThere = await _snapshots.Reader.WaitToReadAsync(stop);
                }
            }
            finally
            {
                await StopAsync(session);
                await reading.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }
        }

        private async Task<EventPipeSession> OpenAsync(CancellationToken stop)
        {
            try
            {
                using Process there = Process.GetProcessById(process);
            }
            catch (ArgumentException)
            {
                throw new BadInputException($"There is no process {process}.");
            }

            Dictionary<string, string> arguments = new() { ["Interval"] = interval.TotalSeconds.ToString(CultureInfo.InvariantCulture) };
            try
            {
                return await new DiagnosticsClient(process).StartEventPipeSessionAsync(
                    [new EventPipeProvider("Weir-Live", EventLevel.Informational, arguments: arguments)], requestRundown: false, circularBufferMB: 32, stop)
                    .WaitAsync(Patience, stop);
            }
            catch (Exception e) when (e is ServerNotAvailableException or TimeoutException or IOException or UnauthorizedAccessException)
            {
                throw new BadInputException(
                    $"Process {process} does not answer: it is none of .NET, its diagnostics are switched off, or it belongs to another user.");
            }
        }

        private void Read(EventPipeSession session)
        {
            try
            {
                using EventPipeEventSource events = new(session.EventStream);
                events.Dynamic.All += e =>
                {
                    if (e.ProviderName == "Weir-Live" && e.EventName == "Snapshot")
                    {
                        Add((string)e.PayloadByName("json"), (int)e.PayloadByName("look"), (int)e.PayloadByName("rest"));
                    }
                };
                events.Process();
            }
            catch (Exception)
            {
                // The pipe breaks when the process ends.
            }

            _snapshots.Writer.TryComplete();
        }

        private void Add(string json, int look, int rest)
        {
            if (look != _look)
            {
                _parts.Clear();
                _look = look;
            }
            else if (rest != _rest - 1)
            {
                // A part is missing.
                _parts.Clear();
            }

            _rest = rest;
            _parts.Append(json);
            if (rest == 0)
            {
                try
                {
                    _snapshots.Writer.TryWrite(WeirSnapshot.FromJson(Encoding.UTF8.GetBytes(_parts.ToString())));
                }
                catch (JsonException)
                {
                    // Its beginning is missing: the next one comes soon.
                }

                _parts.Clear();
            }
        }

        private static async Task StopAsync(EventPipeSession session)
        {
            try
            {
                await session.StopAsync(CancellationToken.None).WaitAsync(Patience);
            }
            catch (Exception)
            {
                // The process has ended.
            }
        }
    }
}
