/* Shuts a file system down without writing its journal or anything else: cut_power DIRECTORY */
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <sys/ioctl.h>

/* FS_IOC_SHUTDOWN, of ext4 and XFS; 2 is "no log flush". */
#define SHUTDOWN _IOR('X', 125, __u32)

int main(int count, char **words) {
    __u32 how = 2;
    int at = count == 2 ? open(words[1], O_RDONLY | O_DIRECTORY) : -1;
    if (at < 0 || ioctl(at, SHUTDOWN, &how) != 0) {
        perror("cut_power");
        return 1;
    }
    return 0;
}
