using System.Diagnostics;

namespace Weir.Core;

/// <summary>The processor time of the process, as .NET 9 has it.</summary>
internal static class EnvironmentMembers
{
    extension(Environment)
    {
        public static ProcessorTime CpuUsage
        {
            get
            {
                using Process self = Process.GetCurrentProcess();
                return new ProcessorTime(self.TotalProcessorTime);
            }
        }
    }

    internal readonly record struct ProcessorTime(TimeSpan TotalTime);
}
